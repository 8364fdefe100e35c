//go:build linux

package tour

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/desktop/office"
)

//go:embed nano.py
var nanoScript []byte

// commands are the programs of a terminal.
func commands(g *guide) {
	c := &terminal{guide: g}
	c.gio()
	c.download()
	c.editors()
	c.trees()
}

// terminal runs commands in a folder of the archive, as a person does who has gone there.
type terminal struct{ *guide }

// do runs a script in a folder of the archive, and expects so many uploads of it. What the
// folder shows afterwards is in the archive: nothing temporary is left.
func (c *terminal) do(script string, uploads int, folder ...string) string {
	out := c.run(fmt.Sprintf("cd %q && %s", c.in(folder...), script))
	c.uploads(uploads)
	shown := strings.Fields(c.run(fmt.Sprintf("cd %q && ls -A | grep -v ' ' || true", c.in(folder...))))
	there := c.documents(folder...)
	for _, name := range shown {
		if c.err == nil && !slices.Contains(there, name) && !c.office.Has(c.ctx, at(folder, name)) {
			c.fail(fmt.Errorf("%s is shown, and is not in the archive", name))
		}
	}
	return out
}

func (c *terminal) gio() {
	content := office.Page("gio")
	c.step("gio copy", "the document is archived, with one upload; a copy out has its bytes", func() string {
		c.write("gio.pdf", content)
		c.do(`gio copy ~/Documents/gio.pdf . && gio copy gio.pdf ~/Desktop/ && cmp gio.pdf ~/Desktop/gio.pdf`, 1, letters...)
		c.archived("gio.pdf", content, letters...)
		return "the archive has it"
	})
	c.step("gio copy over an archived document", "it is refused", func() string {
		return c.refused(fmt.Sprintf("gio copy ~/Documents/gio.pdf %q", c.in(append(letters, "Reply.txt")...)))
	})
	c.step("gio move from the inbox", "the document is archived; nothing is uploaded", func() string {
		c.run(fmt.Sprintf("cp ~/Documents/gio.pdf %q", c.in(append(inbox, "gio-move.pdf")...)))
		c.fail(c.office.Settled(c.ctx))
		c.office.Wire.Take()
		c.do(fmt.Sprintf("gio move %q .", c.in(append(inbox, "gio-move.pdf")...)), 0, letters...)
		c.archived("gio-move.pdf", content, letters...)
		return "the archive has it"
	})
	c.step("gio trash", "it is refused, and the document stays", func() string {
		before := c.documents(letters...)
		said := c.refused(fmt.Sprintf("gio trash %q", c.in(append(letters, "gio.pdf")...)))
		c.same(before, letters...)
		return said
	})
	c.step("gio info, gio mount", "size and kind are told without a download; the archive is listed as a volume", func() string {
		info := c.run(fmt.Sprintf("gio info -a standard::size,standard::content-type %q | tail -2; gio mount -l | grep Archive", c.in(append(scans, "scan-07.pdf")...)))
		if t := c.office.Wire.Total(); c.err == nil && t.Received > 0 {
			c.fail(fmt.Errorf("%d bytes were read", t.Received))
		}
		return info
	})
}

func (c *terminal) download() {
	c.step("A download, as a browser does it", "nothing is sent under the temporary name; the rename archives it, with one upload", func() string {
		content := office.Page("download")
		c.write("download.pdf", content)
		c.do(`: >download.pdf && cp ~/Documents/download.pdf download.pdf.part && mv download.pdf.part download.pdf`, 1, letters...)
		c.archived("download.pdf", content, letters...)
		return "the archive has it"
	})
}

// editors edit a document of the inbox, where that is allowed, and try one of a folder.
func (c *terminal) editors() {
	c.step("vim in the inbox", "the document has the new text; nothing else was sent", func() string {
		c.run(fmt.Sprintf("printf 'old\\n' >%q", c.in(append(inbox, "vim.txt")...)))
		c.fail(c.office.Settled(c.ctx))
		c.office.Wire.Take()
		c.do(`vim -u NONE -es -c 'set backup writebackup swapfile directory=. backupdir=.' -c 'normal inew ' -c wq vim.txt </dev/null; rm -f vim.txt~`, 0, inbox...)
		c.archived("vim.txt", []byte("new old\n"), inbox...)
		return "it has"
	})
	c.step("nano in the inbox", "the document has the new text; nothing else was sent", func() string {
		c.run(fmt.Sprintf("printf 'old\\n' >%q", c.in(append(inbox, "nano.txt")...)))
		c.fail(c.office.Settled(c.ctx))
		c.office.Wire.Take()
		c.fail(os.WriteFile(filepath.Join(c.screen.Home(), "nano.py"), nanoScript, 0o600))
		c.do("TERM=xterm python3 ~/nano.py nano.txt", 0, inbox...)
		c.archived("nano.txt", []byte("new old\n"), inbox...)
		return "it has"
	})
	c.step("vim in a folder", "writing is refused, and the document stays", func() string {
		before := c.documents(letters...)
		said := c.refused(fmt.Sprintf(`cd %q && vim -u NONE -es -c 'normal inew ' -c 'w!' -c 'verbose echo v:errmsg' -c 'cq' Reply.txt </dev/null`, c.in(letters...)))
		c.same(before, letters...)
		c.archived("Reply.txt", []byte("A reply.\n"), letters...)
		return said
	})
}

// trees bring whole directories in and out.
func (c *terminal) trees() {
	one, two := office.Page("one"), office.Page("two")
	c.step("rsync -a, twice", "each document is archived with one upload; the second run has nothing to do", func() string {
		c.run("mkdir -p ~/Documents/tree")
		c.write("tree/one.pdf", one)
		c.write("tree/two.pdf", two)
		again := c.do(`rsync -a ~/Documents/tree/ rsync/ && rsync -ai ~/Documents/tree/ rsync/ | grep '^[<>]' || true`, 2, mandator...)
		c.archived("one.pdf", one, office.Mandator, "rsync")
		if c.err == nil && again != "" {
			c.fail(fmt.Errorf("the second run did %q", again))
		}
		return "the second run sent nothing"
	})
	c.step("tar", "what is unpacked is archived, each with one upload; what is packed has the bytes", func() string {
		c.do(`tar -C ~/Documents -cf ~/tree.tar tree && mkdir tar && tar -C tar --strip-components=1 -xf ~/tree.tar && tar -cf - tar | tar -xf - -C ~/Desktop && cmp ~/Documents/tree/two.pdf ~/Desktop/tar/two.pdf`, 2, mandator...)
		c.archived("two.pdf", two, office.Mandator, "tar")
		return "the archive has them"
	})
	c.step("zip and unzip", "the ZIP is archived with one upload, and so is each file that is unpacked", func() string {
		c.do(`(cd ~/Documents && zip -qr ~/tree.zip tree) && mkdir zip && unzip -qj ~/tree.zip -d zip && (cd zip && zip -q both.zip one.pdf two.pdf) && unzip -qt zip/both.zip`, 3, mandator...)
		c.archived("one.pdf", one, office.Mandator, "zip")
		if names := c.documents(office.Mandator, "zip"); c.err == nil && !slices.Equal(names, []string{"both.zip", "one.pdf", "two.pdf"}) {
			c.fail(fmt.Errorf("the archive has %q", names))
		}
		return "the archive has them"
	})
}
