package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// terminal is a pseudo-terminal (pts(4)).
type terminal struct {
	file  *os.File // for the program
	keys  *os.File // for who types
	mu    sync.Mutex
	shown strings.Builder // guarded by mu
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	tty := &terminal{}
	tty.keys, tty.file = openTerminal(t)
	go func() { _, _ = io.Copy(tty, tty.keys) }() // ends with an error when the slave is closed
	return tty
}

// openTerminal opens both sides of a pseudo-terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("no terminal here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// Write takes what is shown.
func (tty *terminal) Write(b []byte) (int, error) {
	tty.mu.Lock()
	defer tty.mu.Unlock()
	return tty.shown.Write(b)
}

// shows waits until the terminal has shown text.
func (tty *terminal) shows(t *testing.T, text string) {
	t.Helper()
	heals(t, "the terminal shows "+text, func() bool {
		tty.mu.Lock()
		defer tty.mu.Unlock()
		return strings.Contains(tty.shown.String(), text)
	})
}

func TestEndShowsProgressOnATerminal(t *testing.T) {
	tty := newTerminal(t)
	b := newBusy(t, tty.file, "a.txt", "b.txt")
	b.program.signal(os.Interrupt)
	tty.shows(t, "2 uploads, 18 B left")
	b.gate.open()
	b.program.wantExit(0)
	b.wantArchived("a.txt b.txt")
}

func TestUnmountShowsProgressOnATerminal(t *testing.T) {
	tty := newTerminal(t)
	b := newBusy(t, nil, "a.txt")
	unmount := startOn(t, tty.file, "unmount", b.dir)
	tty.shows(t, "1 upload, 9 B left")
	b.gate.open()
	unmount.wantExit(0)
	b.program.wantExit(0)
	b.wantArchived("a.txt")
}

func TestLoginAtATerminal(t *testing.T) {
	isolate(t)
	tty := newTerminal(t)
	p := startOn(t, tty.file, "login", "--base-url", knowing(t))
	for _, dialogue := range [][2]string{
		{"User (", "erika\r"}, {"API key: ", "k-geheim\r"}, {"Password of erika: ", "p-geheim\r"},
	} {
		tty.shows(t, dialogue[0])
		if _, err := tty.keys.WriteString(dialogue[1]); err != nil {
			t.Fatal(err)
		}
	}
	p.line("logged in to ")
	p.wantExit(0)
	tty.mu.Lock()
	defer tty.mu.Unlock()
	if shown := tty.shown.String(); strings.Contains(shown, "geheim") || !strings.Contains(shown, "erika") {
		t.Errorf("the terminal shows %q", shown)
	}
}

func TestLoginThatIsNotAnswered(t *testing.T) {
	home := isolate(t)
	for name, says := range map[string]string{"Ctrl-C": "nothing was kept", "a signal": "it was interrupted, and nothing was changed"} {
		t.Run(name, func(t *testing.T) {
			tty := newTerminal(t)
			before, err := unix.IoctlGetTermios(int(tty.file.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			p := startOn(t, tty.file, "login", "--base-url", "https://archive.example", "--user", "erika")
			tty.shows(t, "API key: ")
			if name == "Ctrl-C" {
				_, _ = tty.keys.WriteString("\x03")
			} else {
				p.signal(os.Interrupt)
			}
			p.wantExit(1)
			tty.shows(t, "archivefs: "+says)
			after, err := unix.IoctlGetTermios(int(tty.file.Fd()), unix.TCGETS)
			if err != nil || *after != *before {
				t.Errorf("the terminal was %+v and is %+v, %v", before, after, err)
			}
			wantUntouched(t, home)
		})
	}
}

// A mount ends well with the terminal that it was started from.
func TestTheTerminalGoesAway(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	dir := t.TempDir()
	master, slave := openTerminal(t)
	unmountAtEnd(t, dir)
	p := startWith(t, func(cmd *exec.Cmd) {
		cmd.Stdin = slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}, "mount", dir)
	p.line("mounted ")
	if err := master.Close(); err != nil {
		t.Fatal(err)
	}
	p.wantExit(0)
	p.says("the terminal that the mount was started from is gone")
}
