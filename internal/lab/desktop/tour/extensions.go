//go:build linux

package tour

import (
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/internal/lab/desktop/office"
)

// What packages install for a desktop: the extensions of file managers, and the menu entry.

//go:embed emblems.py
var emblemsScript []byte

// install installs in the home what packages install in /usr/share.
func (m *manager) install() {
	m.run(fmt.Sprintf(`cd %q && mkdir -p "$XDG_DATA_HOME"/{archivefs/filemanager,nautilus-python/extensions,thunarx-python/extensions,icons/hicolor/scalable/{apps,emblems},applications}
		cp filemanager/archivefs_files.py "$XDG_DATA_HOME/archivefs/filemanager/"
		cp filemanager/nautilus.py "$XDG_DATA_HOME/nautilus-python/extensions/archivefs.py"
		cp filemanager/thunar.py "$XDG_DATA_HOME/thunarx-python/extensions/archivefs.py"
		cp filemanager/emblems/* "$XDG_DATA_HOME/icons/hicolor/scalable/emblems/"
		cp archivefs.svg "$XDG_DATA_HOME/icons/hicolor/scalable/apps/"
		cp archivefs.desktop "$XDG_DATA_HOME/applications/"`, m.packaging))
	m.command = `PYTHONPATH="$XDG_DATA_HOME/archivefs/filemanager" EMBLEMS="$XDG_RUNTIME_DIR/emblems" ` + m.command
}

// packaged is a file manager with what packages install for it.
type packaged struct{ *manager }

// menuEntry starts archivefs as a menu of the desktop does.
func (m packaged) menuEntry() {
	m.step("The entry of the applications menu", "it is valid; it opens the archive in the file manager", func() string {
		m.run(`desktop-file-validate "$XDG_DATA_HOME/applications/archivefs.desktop" && xdg-mime default thunar.desktop inode/directory`)
		m.launch(`gio launch "$XDG_DATA_HOME/applications/archivefs.desktop" && sleep infinity`)
		m.item(m.in(), office.Mandator)
		return "it does"
	})
}

// A folder with a document in each state.
const (
	cached, elsewhere, kept = "Cached.pdf", "Elsewhere.pdf", "Kept.pdf"
	waiting, failed         = "Waiting.pdf", "Failed.pdf"
)

// prepareStates brings the documents of a folder into their states.
func (m packaged) prepareStates() {
	m.fail(m.office.Remount(m.ctx, "--writes async"))
	dir := m.in(states...)
	m.run(fmt.Sprintf(`cd %q && archivefs keep %q && cat %q >/dev/null`, dir, kept, cached))
	for _, file := range []struct {
		name, state string
		status      int // of the answer to its upload
		reason      string
	}{
		{failed, "failed", http.StatusBadRequest, "agreements need a number"},
		{waiting, "pending", http.StatusServiceUnavailable, "the archive is being looked after"},
	} {
		m.office.Wire.Refuse(file.status, file.reason)
		m.write(file.name, office.Page(file.name))
		m.run(fmt.Sprintf(`cp %q %q`, m.own(file.name), dir))
		m.until(file.name+" "+file.state, func() (bool, error) {
			return m.attribute("state", append(states, file.name)...) == file.state, nil
		})
	}
	m.fail(m.office.Settled(m.ctx))
	m.office.Wire.Take()
}

// attribute is an attribute of a file in the mount, empty if it has none.
func (m packaged) attribute(name string, path ...string) string {
	value, _ := xattr.Get(m.in(path...), "user.archive."+name) // most are missing
	return string(value)
}

// emblems looks at the emblems of Nautilus.
func (m packaged) emblems() {
	m.step("Emblems", "what is kept, cached, waits, failed or is in an inbox has its emblem", func() string {
		m.run(`rm -f "$XDG_RUNTIME_DIR/emblems"`)
		m.fail(os.WriteFile(filepath.Join(m.screen.Home(), ".local/share/nautilus-python/extensions/emblems.py"), emblemsScript, 0o600))
		m.prepareStates()
		scan := "Renamed by " + m.Name + ".txt"
		dir, tray := m.in(states...), m.in(inbox...)
		m.open(dir, left)
		m.item(dir, waiting)
		m.open(tray, right)
		m.item(tray, scan)
		want := map[string]string{cached: "cached", kept: "kept", waiting: "waiting", failed: "failed", scan: "inbox"}
		var seen []string
		m.until("the emblems", func() (bool, error) {
			seen = m.notes()
			for name, emblem := range want {
				if !slices.Contains(seen, name+": "+emblem) {
					return false, m.err
				}
			}
			return true, nil
		})
		if slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, elsewhere) }) {
			m.fail(fmt.Errorf("%s has an emblem", elsewhere))
		}
		return strings.Join(seen, ", ")
	})
}

// notes are the emblems that Nautilus was given, as "NAME: EMBLEM"; none in other file managers.
func (m packaged) notes() []string {
	notes := m.run(`sort -u "$XDG_RUNTIME_DIR/emblems" 2>/dev/null || true`)
	return strings.FieldsFunc(strings.ReplaceAll(notes, "emblem-archivefs-", ""), func(r rune) bool { return r == '\n' })
}

// statePage looks at the page of Thunar's properties that says what Nautilus shows by emblems.
func (m packaged) statePage() {
	m.step("The page of the archive in the properties", "it says that the document is kept", func() string {
		m.prepareStates()
		dir := m.in(states...)
		m.open(dir, whole)
		d := m.askDialog(dir, kept, "alt+Return", "Archive")
		if m.err != nil {
			return ""
		}
		for _, tab := range d.All(func(n *screenNode) bool { return n.Role == "page tab" && n.Name == "Archive" }) {
			m.fail(m.screen.Click(m.ctx, tab, 1))
		}
		return m.told([]string{"kept on this machine"})
	})
}

// The entries of the menu.
const keepEntry, freeEntry, showEntry = "Keep on This Machine", "Free", "Show What Waits"

// menu opens the menu of a folder, and keeps the folder.
func (m packaged) menu() {
	dir := m.in(mandator...)
	m.step("The menu of a folder", "it has the entries of the archive", func() string {
		m.open(dir, whole)
		m.askMenu(dir, office.States)
		var found []string
		for _, entry := range []string{keepEntry, freeEntry, showEntry} {
			if m.entry(entry) != nil {
				found = append(found, entry)
			}
		}
		if m.err == nil && !slices.Contains(found, showEntry) {
			m.fail(m.tell(m.tree(m.program)))
		}
		return strings.Join(found, ", ")
	})
	m.step("Keep a folder by its menu", "the folder is kept, and its documents are on this machine", func() string {
		m.open(dir, whole)
		m.askMenu(dir, office.States)
		m.chooseEntry(keepEntry)
		m.until("the folder is kept", func() (bool, error) {
			return m.attribute("keep", states...) == "1" && m.attribute("cached", append(states, elsewhere)...) == "yes", nil
		})
		if len(m.notes()) > 0 {
			m.until("its emblem", func() (bool, error) { return slices.Contains(m.notes(), office.States+": kept"), m.err })
		}
		return "it is"
	})
	m.office.Wire.Accept()
}

// askMenu opens the menu of a file.
func (m packaged) askMenu(dir, name string) {
	m.ask(dir, name, "shift+F10", "a menu", func() bool { return m.entry(keepEntry) != nil })
}

// chooseEntry chooses an entry of an open menu.
func (m packaged) chooseEntry(label string) {
	if entry := m.entry(label); m.err == nil && entry != nil && !m.byKeys {
		m.fail(m.screen.Click(m.ctx, entry, 1))
		return
	}
	m.until("the focus on "+label, func() (bool, error) {
		if entry := m.entry(label); entry == nil || entry.Focused {
			return entry != nil, nil
		}
		m.key("Down")
		return false, m.err
	})
	m.key("Return")
}

// entry is an entry of an open menu, nil without one.
func (m packaged) entry(label string) (found *screenNode) {
	for _, n := range m.tree(m.program).All(func(n *screenNode) bool { return strings.Contains(n.Role, "menu item") && n.Name == label }) {
		found = n
	}
	return found
}
