package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/bustest"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// desktopSession is a session of a person, in which programs of the test run.
func desktopSession(t *testing.T) *bustest.Notifications {
	t.Helper()
	desk := bustest.StartNotifications(t, "body", "body-markup", "actions")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", desk.Address)
	t.Setenv("INVOCATION_ID", "") // no unit of systemd
	return desk
}

// failsIn puts a file into the mount that is not archived.
func failsIn(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "My Archive", name), []byte("%PDF-1.7 and no end"), 0o600); !errors.Is(err, syscall.EIO) {
		t.Errorf("half a PDF: %v, want %v", err, syscall.EIO)
	}
}

// A person at a desktop is told what the mount could not archive.
func TestNotifications(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	desk := desktopSession(t)
	o := startOffice(t)
	dir := t.TempDir()
	m := o.mount(dir, t.TempDir())
	failsIn(t, dir, "<b>a & b.pdf")
	n := desk.Next()
	if n.Summary != "<b>a & b.pdf could not be archived" || n.Body != "In My Archive: the end of the file is missing, as after a cancelled copy." {
		t.Errorf("%+v", n)
	}
	failsIn(t, dir, "c.pdf") // which is told in a minute, if the mount lasts
	desk.Hang(true)
	m.stop()
	o.running.stop()
	if desk.Waiting() > 0 {
		t.Errorf("another one within the minute: %+v", desk.Next())
	}
}

func TestNoNotifications(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	desk := desktopSession(t)
	o := startOffice(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	quiet := o.mount(dirs[0], t.TempDir(), "--notify", "none")
	failsIn(t, dirs[0], "a.pdf")
	loud := o.mount(dirs[1], t.TempDir())
	failsIn(t, dirs[1], "b.pdf")
	if n := desk.Next(); !strings.HasPrefix(n.Summary, "b.pdf ") { // which was later
		t.Errorf("%+v", n)
	}
	quiet.stop()
	loud.stop()
	o.running.stop()
}

func TestNotifyWrong(t *testing.T) {
	isolate(t)
	wantCall(t, 2, `--notify: "loudly" is neither auto nor none`, "mount", "--notify", "loudly", t.TempDir())
	t.Setenv("ARCHIVEFS_NOTIFY", "loudly")
	wantCall(t, 2, `ARCHIVEFS_NOTIFY: "loudly" is neither auto nor none`, "mount", t.TempDir())
}
