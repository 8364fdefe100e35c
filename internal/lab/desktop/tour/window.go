//go:build linux

package tour

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
)

// Places of windows on the screen.
var (
	whole = [4]int{8, 28, 800, 520}
	left  = [4]int{4, 28, 500, 480}
	right = [4]int{514, 28, 500, 480}
)

// files are the roles that files have in the views of file managers.
var files = []string{"table cell", "cell", "widget"}

// tree is what the program shows.
func (g *guide) tree(program string) *screen.Node {
	t, err := g.screen.Tree(g.ctx, program)
	if err != nil {
		g.fail(err)
		return &screen.Node{}
	}
	return t
}

// window waits for the window of a directory, and returns it.
func (m *manager) window(dir string) (found *screen.Node) {
	title := filepath.Base(dir)
	m.until("a window of "+title, func() (bool, error) {
		for _, w := range m.tree(m.program).Children {
			if (w.Role == "frame" || w.Role == "window") && strings.HasPrefix(w.Name, title) {
				found = w
			}
		}
		return found != nil, nil
	})
	return found
}

// open opens a window of a directory at a place of the screen, and gives it the focus.
func (m *manager) open(dir string, place [4]int) {
	m.launch(fmt.Sprintf(m.command, dir))
	m.window(dir)
	m.focus(dir)
	if id := m.id(dir); m.err == nil {
		m.fail(m.screen.Place(m.ctx, id, place[0], place[1], place[2], place[3]))
	}
}

// focus gives the window of a directory the focus.
func (m *manager) focus(dir string) {
	if id := m.id(dir); m.err == nil {
		_, err := m.screen.Run(m.ctx, "xdotool windowactivate --sync "+id)
		m.fail(err)
	}
}

// id waits for the window of a directory, and returns what the X server calls it.
func (m *manager) id(dir string) (id string) {
	title := "^" + filepath.Base(dir)
	m.until("a window called "+title, func() (bool, error) {
		ids := m.screen.Windows(m.ctx, title)
		if len(ids) > 0 {
			id = ids[0]
		}
		return id != "", nil
	})
	return id
}

// item waits for a file in the window of a directory.
func (m *manager) item(dir, name string) (found *screen.Node) {
	m.until(fmt.Sprintf("%q in the window of %s", name, filepath.Base(dir)), func() (bool, error) {
		w := m.window(dir)
		if w == nil {
			return false, nil
		}
		all := w.All(func(n *screen.Node) bool {
			return n.W > 1 && slices.Contains(files, n.Role) && n.Name == name
		})
		if len(all) == 0 {
			return false, nil
		}
		found = all[len(all)-1] // the sidebar comes first
		return true, nil
	})
	return found
}

// choose selects a file with the mouse.
func (m *manager) choose(dir, name string) {
	m.focus(dir)
	if n := m.item(dir, name); m.err == nil {
		m.fail(m.screen.Click(m.ctx, n, 1))
	}
}

// patience is how long a key that was pressed may do nothing before it is pressed again: a
// list that comes anew at that moment has nothing selected.
const patience = 8 * time.Second

// ask selects a file and presses a key, until what that brings is there.
func (m *manager) ask(dir, name, key, what string, there func() bool) {
	var pressed time.Time
	m.until(what, func() (bool, error) {
		if there() {
			return true, nil
		}
		if m.err == nil && time.Since(pressed) > patience {
			m.choose(dir, name)
			m.key(key)
			pressed = time.Now()
		}
		return false, m.err
	})
}

// askDialog is ask for a dialog that says something.
func (m *manager) askDialog(dir, name, key, says string) (found *screen.Node) {
	m.ask(dir, name, key, fmt.Sprintf("a dialog that says %q", says), func() bool {
		found = m.shownDialog(says)
		return found != nil
	})
	return found
}

// key presses keys.
func (g *guide) key(keys ...string) {
	if g.err == nil {
		g.fail(g.screen.Key(g.ctx, keys...))
	}
}

// dialog waits for a dialog that says something.
func (m *manager) dialog(says string) (found *screen.Node) {
	m.until(fmt.Sprintf("a dialog that says %q", says), func() (bool, error) {
		found = m.shownDialog(says)
		return found != nil, nil
	})
	return found
}

// shownDialog is a dialog that says something now, nil without one.
func (m *manager) shownDialog(says string) (found *screen.Node) {
	for _, w := range m.tree(m.program).Children {
		if strings.Contains(w.Words(), says) && !m.isWindow(w) {
			found = w
		}
	}
	return found
}

// isWindow tells the windows of directories from dialogs.
func (m *manager) isWindow(w *screen.Node) bool {
	return len(w.All(func(n *screen.Node) bool { return n.Role == "menu bar" || n.Role == "tool bar" })) > 0
}

// press presses a button of a dialog.
func (m *manager) press(dialog *screen.Node, button string) {
	if m.err != nil {
		return
	}
	all := dialog.All(func(n *screen.Node) bool {
		return strings.Contains(n.Role, "button") && strings.HasPrefix(strings.ReplaceAll(n.Name, "_", ""), button)
	})
	if len(all) == 0 {
		m.fail(fmt.Errorf("no button %q: %w", button, m.tell(dialog)))
		return
	}
	m.fail(m.screen.Act(m.ctx, all[0]))
}
