//go:build linux

package tour

import (
	"fmt"
	"slices"
	"strings"
)

// What an archive does not allow, and how a file manager says so.

// overwrite pastes a document over an archived one.
func (m *manager) overwrite() {
	m.step("Overwrite an archived document", "a dialog names the document and says why; the archive has the old one", func() string {
		name := "Reply.txt"
		m.write(name, []byte("Another reply.\n"))
		before := m.documents(letters...)
		from, to := m.own(""), m.in(letters...)
		m.open(from, left)
		m.open(to, right)
		m.item(to, name)
		m.paste(from, to, name, func() bool { return m.shownDialog(name) != nil })
		m.press(m.dialog(name), m.replace)
		said := m.refusal()
		m.same(before, letters...)
		m.archived(name, []byte("A reply.\n"), letters...)
		m.uploads(0)
		return said
	})
}

// refusal is how it is said that something is not permitted.
func (m *manager) refusal() string { return m.told(m.says) }

// told waits until a dialog, or a message in the window, says one of some things, and returns
// its words.
func (m *manager) told(what []string) (said string) {
	m.until(fmt.Sprintf("a refusal, one of %q", what), func() (bool, error) {
		said = m.saying(what)
		return said != "", nil
	})
	return said
}

// saying are the words of a dialog, or of a message in the window, that says one of some things
// now.
func (m *manager) saying(what []string) (said string) {
	says := func(text string) bool {
		return slices.ContainsFunc(what, func(part string) bool { return strings.Contains(text, part) })
	}
	for _, w := range m.tree(m.program).Children {
		where := "a dialog: " + w.Words()
		if m.isWindow(w) {
			where = "in the window: "
		}
		for _, n := range w.All(func(n *screenNode) bool { return says(n.Name) || says(n.Text) }) {
			if said = where; m.isWindow(w) {
				said += n.Name
			}
		}
	}
	return said
}

// delete deletes an archived document for good.
func (m *manager) delete() {
	m.step("Delete an archived document", "a dialog says that it is not permitted; the document stays", func() string {
		dir := m.in(letters...)
		before := m.documents(letters...)
		m.open(dir, whole)
		m.press(m.askDialog(dir, "Offer.txt", "shift+Delete", "Offer.txt"), m.remove)
		said := m.refusal()
		m.same(before, letters...)
		m.item(dir, "Offer.txt")
		return said
	})
}

// trash puts an archived document in a trash, which an archive does not have.
func (m *manager) trash() {
	m.step("Put an archived document in the trash", "it is said that there is no trash, or that it is not permitted; the document stays", func() string {
		dir := m.in(letters...)
		before := m.documents(letters...)
		m.open(dir, whole)
		var said string
		if m.sure != "" {
			m.press(m.askDialog(dir, "Offer.txt", "Delete", "Offer.txt"), m.sure)
			said = m.told(m.trashes)
		} else {
			m.ask(dir, "Offer.txt", "Delete", fmt.Sprintf("one of %q", m.trashes), func() bool {
				said = m.saying(m.trashes)
				return said != ""
			})
		}
		m.same(before, letters...)
		m.item(dir, "Offer.txt")
		return said
	})
}
