//go:build linux

package tour

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed office.py
var officeScript []byte

// libreoffice opens documents of the archive in a text processor, and saves them there.
func libreoffice(g *guide) {
	g.Version = g.run("soffice --version")
	l := &processor{g}
	g.fail(os.WriteFile(l.script(), officeScript, 0o600))
	g.write("Contract.txt", []byte("A contract.\n"))
	// Without a screen it notes windows of no size in the profile, so that has one of its own.
	g.run(`cd ~/Documents && soffice -env:UserInstallation="file://$HOME/.headless" --headless --convert-to odt Contract.txt >&2`)
	first := g.err
	l.step("Open a document of a folder, save it under another name", "the window shows it; the new document is archived, with one upload", func() string {
		l.fail(first)
		l.put(letters)
		l.start(l.in(append(letters, "Contract.odt")...))
		l.call("saveas", "Contract.odt", "Saved as.odt", letters)
		l.says("A contract.", "Saved as.odt", letters)
		l.uploads(1)
		l.left(letters)
		return "the archive has it, and nothing temporary"
	})
	l.step("Change a document of the inbox, save it", "the document of the archive is changed, in place", func() string {
		l.put(inbox)
		l.start(l.in(append(inbox, "Contract.odt")...))
		l.call("save", "Contract.odt", "", inbox)
		l.says("Changed. A contract.", "Contract.odt", inbox)
		l.uploads(0)
		l.left(inbox)
		return "it is, and nothing temporary is left"
	})
	l.step("Change a document of a folder, save it", "saving is refused, and the document stays", func() string {
		name := "Contract.odt"
		l.start(l.in(append(letters, name)...))
		said := l.refused(l.line("save", name, "", letters))
		l.says("A contract.", name, letters)
		l.uploads(0)
		l.left(letters)
		return said
	})
}

// processor is LibreOffice.
type processor struct{ *guide }

func (l *processor) script() string { return filepath.Join(l.screen.Home(), "office.py") }

// put copies the contract into a folder, before what is counted.
func (l *processor) put(folder []string) {
	l.run(fmt.Sprintf("cp ~/Documents/Contract.odt %q", l.in(folder...)))
	l.fail(l.office.Settled(l.ctx))
	l.office.Wire.Take()
}

// start opens a document in a window.
func (l *processor) start(path string) {
	l.launch(fmt.Sprintf(`exec soffice --norestore --nologo --nofirststartwizard --writer --accept="pipe,name=archivefs;urp;" %q`, path))
	var windows []string
	l.until("a window of "+filepath.Base(path), func() (bool, error) {
		windows = l.screen.Windows(l.ctx, "^"+filepath.Base(path))
		return len(windows) > 0, nil
	})
	l.until("something in it", func() (bool, error) { return l.screen.Painted(l.ctx, windows[0]) })
}

func (l *processor) line(verb, name, as string, folder []string) string {
	line := fmt.Sprintf("python3 %q archivefs %s %q", l.script(), verb, fileURL(l.in(append(slices.Clone(folder), name)...)))
	if as != "" {
		line += fmt.Sprintf(" %q", fileURL(l.in(append(slices.Clone(folder), as)...)))
	}
	return line
}

func (l *processor) call(verb, name, as string, folder []string) {
	l.run(l.line(verb, name, as, folder))
}

func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// says fails unless the text of the document in the archive has these words.
func (l *processor) says(words, name string, folder []string) {
	l.until(fmt.Sprintf("%q in %s of the archive", words, name), func() (bool, error) {
		content, err := l.office.ContentAt(l.ctx, at(folder, name))
		if err != nil {
			return false, nil // it is not there yet
		}
		text, err := openDocumentText(content)
		return strings.Contains(text, words), err
	})
}

// openDocumentText is the text of an OpenDocument file, with its markup.
func openDocumentText(content []byte) (string, error) {
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return "", err
	}
	f, err := z.Open("content.xml")
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(f)
	return string(text), err
}

// left fails when the folder shows what the archive does not have.
func (l *processor) left(folder []string) {
	if l.err != nil {
		return
	}
	there := l.documents(folder...)
	entries, err := os.ReadDir(l.in(folder...))
	l.fail(err)
	for _, e := range entries {
		lock := strings.HasPrefix(e.Name(), ".~lock.") // as long as the document is open
		if l.err == nil && !lock && !slices.Contains(there, e.Name()) {
			l.fail(fmt.Errorf("%s is shown, and is not in the archive", e.Name()))
		}
	}
}
