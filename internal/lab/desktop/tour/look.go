//go:build linux

package tour

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
// their contents no more than so many bytes may be read. With pictures the previews of the service become
// thumbnails; when the folder is opened again they are shown, and nothing is asked.
func (m *manager) fifty(how, setting string, most int64, pictures bool) {
	expected := "all are shown; none of their contents is read"
	if most > 0 {
		expected = fmt.Sprintf("all are shown; at most %s of their contents are read", humanize.IBytes(uint64(most)))
	}
	if pictures {
		expected += "; each gets a thumbnail"
	}
	dir := m.in(scans...)
	title := fmt.Sprintf("A folder of %d PDFs, %s", office.PDFs, how)
	m.step(title, expected, func() string {
		if setting != "" {
			m.run(setting)
		}
		m.fail(m.office.Remount(m.ctx))
		m.run(`rm -rf "$XDG_CACHE_HOME/thumbnails"`)
		m.office.Wire.Take()
		began := time.Now()
		m.open(dir, whole)
		m.scans(dir)
		seen := ""
		if pictures {
			m.until("thumbnails", func() (bool, error) { return m.thumbnails() >= office.PDFs, nil })
			seen = fmt.Sprintf("; %d thumbnails after %.1f s", m.thumbnails(), time.Since(began).Seconds())
			m.fail(m.office.Quiet(m.ctx, looksAgain))
		}
		m.fail(m.office.Settled(m.ctx))
		t := m.office.Wire.Total()
		if m.err == nil && t.Received > most {
			m.fail(fmt.Errorf("%d bytes of contents were read", t.Received))
		}
		return fmt.Sprintf("%d bytes of contents and %d of previews were read%s", t.Received, t.Previews, seen)
	})
	if !pictures {
		return
	}
	m.step(title+", again", "they are shown with their thumbnails; no preview is read", func() string {
		m.open(dir, whole)
		m.scans(dir)
		m.fail(m.office.Settled(m.ctx))
		t := m.office.Wire.Total()
		if m.err == nil && t.Received+t.Previews > most {
			m.fail(fmt.Errorf("%d bytes of contents and %d of previews were read", t.Received, t.Previews))
		}
		return fmt.Sprintf("%d bytes of contents and %d of previews were read", t.Received, t.Previews)
	})
}

// scans waits for some of the scans in a window. Nautilus may begin anywhere in the list.
func (m *manager) scans(dir string) {
	m.until("the scans", func() (bool, error) {
		w := m.window(dir)
		return w != nil && len(w.All(func(n *screenNode) bool {
			return slices.Contains(files, n.Role) && strings.HasPrefix(n.Name, "scan-")
		})) > 0, m.err
	})
}

// looksAgain is longer than a mount waits before it looks whether thumbnails were removed.
const looksAgain = 5 * time.Second

// thumbnails counts what is in the user's cache.
func (m *manager) thumbnails() int {
	all, _ := filepath.Glob(filepath.Join(m.screen.Home(), ".cache", "thumbnails", "large", "*.png")) // the pattern is right
	return len(all)
}
