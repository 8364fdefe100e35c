//go:build linux

package tour

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/archivefs/archivefs/internal/lab/desktop/office"
	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
)

type screenNode = screen.Node

// What file managers show of an archive, without a change.

// freeSpace looks at the status bar.
func (m *manager) freeSpace() {
	if m.room == "" {
		return
	}
	m.step("Free space", "the status bar says what the archive has room for", func() string {
		dir := m.in(letters...)
		m.open(dir, whole)
		return m.statusBar(m.room)
	})
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

// properties opens the window of a document's properties.
func (m *manager) properties() {
	m.step("Properties", "name, kind and size are shown", func() string {
		dir := m.in(letters...)
		m.open(dir, whole)
		d := m.askDialog(dir, "Terms.pdf", "alt+Return", m.about)
		if m.err != nil {
			return ""
		}
		return d.Words()
	})
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
