//go:build linux

package tour

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/archivefs/archivefs/internal/desktop/office"
	"github.com/archivefs/archivefs/internal/desktop/screen"
)

type screenNode = screen.Node

// thunar is the file manager of Xfce.
func thunar(g *guide) {
	g.Version = g.run("thunar --version | head -1")
	m := &manager{
		guide: g, program: "Thunar", command: `exec thunar %q`,
		newFolder: "ctrl+shift+n", create: "Create", replace: "Replace", remove: "Delete", says: []string{"not permitted"},
	}
	m.run(`xfconf-query -c thunar -n -t string -p /default-view -s ThunarDetailsView`)
	m.steps()
	m.step("Free space", "the status bar says what the archive has room for", func() string {
		dir := m.in(letters...)
		m.open(dir, whole)
		return m.statusBar("Free space")
	})
	m.step("Properties", "name, kind and size are shown", func() string {
		dir := m.in(letters...)
		m.open(dir, whole)
		m.choose(dir, "Terms.pdf")
		m.key("alt+Return")
		d := m.dialog("Terms.pdf - Properties")
		if m.err != nil {
			return ""
		}
		return d.Words()
	})
	m.fifty("with thumbnails (tumblerd)", "", 0)
	m.fifty("without thumbnails", `xfconf-query -c thunar -n -t string -p /misc-thumbnail-mode -s THUNAR_THUMBNAIL_MODE_NEVER`, 0)
}

// statusBar returns what a status bar says.
func (m *manager) statusBar(says string) (text string) {
	m.until("a status bar that says "+says, func() (bool, error) {
		for _, n := range m.tree(m.program).All(func(n *screenNode) bool { return strings.Contains(n.Name, says) }) {
			text = n.Name
		}
		return text != "", nil
	})
	return text
}

// fifty opens the folder of scans, that the mount and the program have not seen before. Of
// their contents no more than so many bytes may be read.
func (m *manager) fifty(how, setting string, most int64) {
	expected := "all are shown; none of their contents is read"
	if most > 0 {
		expected = fmt.Sprintf("all are shown; at most %s of their contents are read", humanize.IBytes(uint64(most)))
	}
	m.step(fmt.Sprintf("A folder of %d PDFs, %s", office.PDFs, how), expected, func() string {
		dir := m.in(scans...)
		if setting != "" {
			m.run(setting)
		}
		m.fail(m.office.Remount(m.ctx))
		m.run(`rm -rf "$XDG_CACHE_HOME/thumbnails"`)
		m.office.Wire.Take()
		m.open(dir, whole)
		m.item(dir, "scan-01.pdf")
		m.fail(m.office.Settled(m.ctx))
		t := m.office.Wire.Total()
		if m.err == nil && t.Received > most {
			m.fail(fmt.Errorf("%d bytes of contents were read", t.Received))
		}
		return fmt.Sprintf("%d bytes of contents were read", t.Received)
	})
}
