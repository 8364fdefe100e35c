//go:build linux

package tour

import (
	"fmt"
	"slices"
	"time"

	"github.com/archivefs/archivefs/internal/lab/desktop/office"
	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
)

// What happens without the user: others change the archive, and an upload fails.

// others has a colleague change what the file manager shows.
func (m *manager) others() {
	m.step("What a colleague changes", "a document that is added, one that gets another name and one that is removed from the inbox show in the open windows (--watch 2s)", func() string {
		added, old, renamed, removed := "Added for "+m.Name+".txt", "Old for "+m.Name+".txt", "New for "+m.Name+".txt", "Removed for "+m.Name+".txt"
		m.fail(m.office.Add(m.ctx, at(letters, old), []byte("It gets another name.\n")))
		m.fail(m.office.Add(m.ctx, at(inbox, removed), []byte("It is removed.\n")))
		m.fail(m.office.Remount(m.ctx, "--watch 2s"))
		folder, tray := m.in(letters...), m.in(inbox...)
		m.open(folder, left)
		m.item(folder, old)
		m.open(tray, right)
		m.item(tray, removed)
		m.fail(m.office.Settled(m.ctx))
		m.office.Wire.Take()
		began := time.Now()
		m.fail(m.office.Add(m.ctx, at(letters, added), []byte("It is added.\n")))
		m.fail(m.office.Rename(m.ctx, at(letters, old), renamed))
		m.fail(m.office.Remove(m.ctx, at(inbox, removed)))
		m.item(folder, added)
		m.item(folder, renamed)
		m.without(folder, old)
		m.without(tray, removed)
		return fmt.Sprintf("all after %.1f s", time.Since(began).Seconds())
	})
}

// without waits until the window of a directory does not show a file.
func (m *manager) without(dir, name string) {
	m.until(fmt.Sprintf("%q not in the window", name), func() (bool, error) {
		w := m.window(dir)
		return w != nil && len(w.All(func(n *screen.Node) bool { return slices.Contains(files, n.Role) && n.Name == name })) == 0, m.err
	})
}

// notification copies a PDF without its end into a folder.
func (m *manager) notification() {
	m.step("Copy in a PDF that lacks its end", "one notification names it and says why; nothing is uploaded", func() string {
		notices, err := m.screen.Notices(m.ctx)
		m.fail(err)
		name := "Cut off.pdf"
		m.write(name, office.Page(name)[:700])
		from, to := m.own(""), m.in(letters...)
		m.open(from, left)
		m.open(to, right)
		m.item(to, "Offer.txt")
		m.paste(from, to, name, func() bool { return len(notices) > 0 })
		var said screen.Notice
		m.until("a notification", func() (bool, error) {
			select {
			case said = <-notices:
				return true, nil
			default:
				return false, nil
			}
		})
		m.until("a window of it", func() (bool, error) {
			out, err := m.screen.Run(m.ctx, "xdotool search --onlyvisible --class dunst || true")
			return out != "", err
		})
		m.fail(m.office.Settled(m.ctx))
		if n := len(notices); m.err == nil && n > 0 {
			m.fail(fmt.Errorf("%d more notifications came", n))
		}
		m.uploads(0)
		return said.Summary + ": " + said.Body
	})
}
