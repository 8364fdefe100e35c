//go:build linux

package tour

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/desktop/office"
)

// manager is a file manager.
type manager struct {
	*guide
	program string // as it calls itself on the accessibility bus
	command string // opens a directory, %q

	newFolder string   // keys
	create    string   // the button that makes a folder
	replace   string   // the button that replaces a file
	remove    string   // the button that deletes for good
	sure      string   // the button that puts it in the trash; empty where nobody asks
	trashes   []string // one of these, of what cannot be put in a trash
	room      string   // what a status bar says of free space; empty for one that does not
	about     string   // what the window of the properties of Terms.pdf says
	says      []string // one of these, of what the archive does not allow
	asks      bool     // what a drag is for, unless a key is held that says it
	byKeys    bool     // entries of menus are chosen by keys, because their places are not told (GTK 4)
}

var (
	mandator = []string{office.Mandator}
	letters  = []string{office.Mandator, office.Letters}
	scans    = []string{office.Mandator, office.Scans}
	states   = []string{office.Mandator, office.States}
	inbox    = []string{"inboxes", office.Inbox}
)

// steps are what is done with every file manager.
func (m *manager) steps() {
	m.ended = func() error { return m.screen.Gone(m.ctx, m.program) }
	m.install()
	m.step("Open the archive", "the mandators and the inboxes are shown", func() string {
		dir := m.in()
		m.open(dir, whole)
		m.item(dir, office.Mandator)
		m.item(dir, "inboxes")
		return "both are shown"
	})
	m.copyIn()
	m.dragIn()
	m.copyOut()
	m.dragFromInbox()
	m.overwrite()
	m.delete()
	m.trash()
	m.rename("Rename within a folder", letters)
	m.rename("Rename in the inbox", inbox)
	m.makeFolder()
	m.freeSpace()
	m.properties()
	m.others()
}

// copyIn copies a document from the home and pastes it in a folder.
func (m *manager) copyIn() {
	m.step("Copy in by paste", "the document is archived, with one upload", func() string {
		name := "Pasted with " + m.Name + ".pdf"
		content := office.Page(name)
		m.write(name, content)
		from, to := m.own(""), m.in(letters...)
		m.open(from, left)
		m.open(to, right)
		m.item(to, "Offer.txt")
		m.paste(from, to, name, func() bool { return m.office.Wire.Total().Count("POST /file-upload") > 0 })
		m.archived(name, content, letters...)
		m.item(to, name)
		m.uploads(1)
		return "the archive has it, with the same bytes"
	})
}

// paste copies a file in a window and pastes it in another one. A busy program can miss a key: while
// nothing has come of it, it is done again.
func (m *manager) paste(from, to, name string, come func() bool) {
	var pasted time.Time
	m.until("something after a paste", func() (bool, error) {
		if come() {
			return true, nil
		}
		if m.err == nil && time.Since(pasted) > 2*patience {
			m.choose(from, name)
			m.key("ctrl+c")
			m.focus(to)
			m.key("ctrl+v")
			pasted = time.Now()
		}
		return false, m.err
	})
}

// dragIn drags a document from the home to a folder.
func (m *manager) dragIn() {
	m.step("Drag in with the mouse", "the document is archived, with one upload", func() string {
		name := "Dragged with " + m.Name + ".pdf"
		content := office.Page(name)
		m.write(name, content)
		from, to := m.own(""), m.in(letters...)
		m.drag(from, to, name, "Offer.txt", "ctrl", "POST /file-upload")
		m.archived(name, content, letters...)
		m.item(to, name)
		m.uploads(1)
		return "the archive has it, with the same bytes"
	})
}

// drag drags a file from a window to the free place in another one that shows a file beside.
// Where the file manager would ask what that shall do, a key is held. A busy program can miss
// the drop: while the service was not sent the request, it is done again.
func (m *manager) drag(from, to, name, beside, key, request string) {
	m.open(to, right)
	m.item(to, beside)
	m.open(from, left)
	source, target := m.item(from, name), m.window(to)
	if m.err != nil {
		return
	}
	if !m.asks {
		key = ""
	}
	var dragged time.Time
	m.until("a "+request+" after a drag", func() (bool, error) {
		if m.office.Wire.Total().Count(request) > 0 {
			return true, nil
		}
		if time.Since(dragged) < 2*patience {
			return false, nil
		}
		err := m.screen.Drag(m.ctx, source, free(target), key)
		dragged = time.Now()
		return false, err
	})
}

// free is a place in a window of a directory with no file: the lower right of the view.
func free(window *screenNode) *screenNode {
	view := &screenNode{X: window.X, Y: window.Y, W: window.W, H: window.H - 50} // a status bar is below
	for _, n := range window.All(func(n *screenNode) bool { return n.Role == "table" && n.X > window.X+window.W/5 }) {
		view = n
	}
	return &screenNode{X: view.X + view.W - 40, Y: view.Y + view.H - 40, W: 20, H: 20}
}

// copyOut copies a document from a folder to the home.
func (m *manager) copyOut() {
	m.step("Copy out", "the copy has the bytes of the archive", func() string {
		name := "Terms.pdf"
		want, err := m.office.ContentAt(m.ctx, at(letters, name))
		m.fail(err)
		m.fail(os.RemoveAll(m.own(name)))
		from, to := m.in(letters...), m.own("")
		m.open(from, left)
		m.open(to, right)
		m.paste(from, to, name, func() bool {
			_, err := os.Stat(m.own(name))
			return err == nil
		})
		m.until("the copy", func() (bool, error) {
			got, err := os.ReadFile(m.own(name))
			return err == nil && string(got) == string(want), nil
		})
		m.item(to, name)
		return "it has"
	})
}

// dragFromInbox drags a document from an inbox to a folder, which archives it.
func (m *manager) dragFromInbox() {
	m.step("Drag from the inbox to a folder", "the document leaves the inbox and is archived; nothing is uploaded or read", func() string {
		name := "Inbox " + m.Name + ".txt"
		content := []byte("A document of an inbox, for " + m.Name + ".\n")
		m.write(name, content)
		m.run(fmt.Sprintf("cp %q %q", m.own(name), m.in(inbox...)))
		m.archived(name, content, inbox...)
		m.fail(m.office.Settled(m.ctx))
		m.office.Wire.Take()
		from, to := m.in(inbox...), m.in(letters...)
		m.drag(from, to, name, "Offer.txt", "shift", "POST /document/ID/archive")
		m.archived(name, content, letters...)
		m.item(to, name)
		for _, left := range m.documents(inbox...) {
			if left == name {
				m.fail(fmt.Errorf("it is in the inbox, too"))
			}
		}
		m.uploads(0)
		return "it is archived"
	})
}

// rename renames a document within its folder.
func (m *manager) rename(title string, folder []string) {
	m.step(title, "the document has the new name in the archive; nothing is uploaded or read", func() string {
		old, name := "Rename "+m.Name+".txt", "Renamed by "+m.Name
		content := []byte("A document with another name, for " + m.Name + ".\n")
		m.write(old, content)
		m.run(fmt.Sprintf("cp %q %q", m.own(old), m.in(folder...)))
		m.archived(old, content, folder...)
		m.fail(m.office.Settled(m.ctx))
		m.office.Wire.Take()
		dir := m.in(folder...)
		m.open(dir, whole)
		m.ask(dir, old, "F2", "a place to edit the name", func() bool { return m.renaming(old) })
		m.key("ctrl+a")
		m.typed(name + ".txt")
		m.key("Return")
		m.archived(name+".txt", content, folder...)
		m.item(dir, name+".txt")
		m.uploads(0)
		return "it has"
	})
}

// renaming reports whether the old name can be edited.
func (m *manager) renaming(old string) bool {
	stem := strings.TrimSuffix(old, filepath.Ext(old))
	return len(m.tree(m.program).All(func(n *screenNode) bool {
		return slices.Contains([]string{"text", "entry", "text box"}, n.Role) &&
			(strings.HasPrefix(n.Text, stem) || n.Name == "New Filename") // Nautilus does not tell the text
	})) > 0
}

// typed types a text.
func (g *guide) typed(text string) {
	if g.err == nil {
		g.fail(g.screen.Type(g.ctx, text))
	}
}

// makeFolder makes a folder.
func (m *manager) makeFolder() {
	m.step("Make a folder", "the archive has the folder", func() string {
		dir, name := m.in(mandator...), "Folder of "+m.Name
		m.open(dir, whole)
		m.item(dir, office.Letters)
		m.key(m.newFolder)
		d := m.dialog(m.create)
		m.key("ctrl+a")
		m.typed(name)
		m.press(d, m.create)
		m.until("the folder", func() (bool, error) { return m.office.Has(m.ctx, at(mandator, name)), nil })
		m.item(dir, name)
		return "it has"
	})
}
