package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/fusectl"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// hanging is a mount that waits for its service in the middle of a change of a folder, into which
// somebody looks after it has changed at the service, too.
type hanging struct {
	t             *testing.T
	service       *hostile.Service
	gate          *hostile.Gate
	url           string
	dir, state    string
	folder, inbox string // below dir
	program       *program
	stuck         []*exec.Cmd // what waits for the mount
	as            *person     // whose the mount is, nil for whose the test is
}

// abortAtEnd frees whoever still waits for the mount at dir when the test ends.
func abortAtEnd(t *testing.T, dir string, p *program) {
	t.Helper()
	here, ok := mounted.At(dir)
	if !ok {
		t.Fatal("nothing is mounted at " + dir)
	}
	minor := minorOf(t, here.Device)
	t.Cleanup(func() {
		listed, err := fusectl.Find(minor)
		if err != nil {
			return
		}
		defer listed.Close()
		select {
		case err := <-p.done:
			p.done <- err
		default: // the number is the mount's as long as its process lives
			_ = listed.Abort()
		}
	})
}

func minorOf(t *testing.T, device string) uint32 {
	t.Helper()
	_, text, _ := strings.Cut(device, ":")
	minor, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(minor)
}

// newHanging has a program, in which $1 is the folder and $2 the inbox, wait for the service's
// answer to requests of that path.
func newHanging(t *testing.T, as *person, path, script string) *hanging {
	t.Helper()
	h := &hanging{t: t, gate: hostile.NewGate(), as: as}
	if as != nil {
		h.dir, h.state = as.dir, filepath.Join(as.home, "state")
	} else {
		h.dir, h.state = t.TempDir(), filepath.Join(t.TempDir(), "state")
	}
	h.service = hostile.New(hostile.Config{Credentials: hostile.Credentials{APIKey: "k"}})
	mandator := h.service.AddMandator("Muster GmbH")
	folder := h.service.AddFolder(mandator, "Briefe")
	inbox := h.service.AddInbox(1, "Erika")
	var documents []int64
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		documents = append(documents, h.service.AddDocument(folder, hostile.Document{Name: name, Content: []byte(name)}))
	}
	h.service.AddDocument(inbox, hostile.Document{Name: "in.txt", Content: []byte("in")})
	h.url = h.service.Start(t)
	t.Cleanup(h.gate.Open)
	h.folder, h.inbox = filepath.Join(h.dir, "Muster GmbH", "Briefe"), filepath.Join(h.dir, "inboxes", "Erika")
	h.mount()
	h.run("ls $1 $2 && stat $1/a.txt").mustEnd()

	h.service.Fault(hostile.Fault{Method: "POST", Path: path, Times: hostile.Always, Do: hostile.StallBefore(h.gate)})
	h.stuck = append(h.stuck, h.run(script).Cmd)
	<-h.gate.Arrived()
	for i, id := range documents[:2] {
		h.service.Change(id, func(d *hostile.Document) { d.Name = "renamed " + strconv.Itoa(i) + ".txt" })
	}
	asked := h.service.Count("GET", "/document/list")
	heals(t, "somebody looks into the folder", func() bool {
		h.stuck = append(h.stuck, h.run("ls $1").Cmd, h.run("stat $1").Cmd)
		return h.service.Count("GET", "/document/list") > asked
	})
	return h
}

func (h *hanging) mount() {
	h.t.Helper()
	h.program = h.start("mount", h.dir, "--base-url", h.url, "--api-key", "k", "--state-dir", h.state, "--ttl", "1s", "--drain", "1s", "--timeout", "1h")
	h.program.line("mounted ")
	abortAtEnd(h.t, h.dir, h.program)
}

// start starts the program as whose the mount is.
func (h *hanging) start(args ...string) *program {
	h.t.Helper()
	if h.as != nil {
		return h.as.start(args...)
	}
	return start(h.t, args...)
}

// hung is a program that may wait for the mount.
type hung struct {
	*exec.Cmd
	t *testing.T
}

func (h *hanging) run(script string) hung {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "sh", "-c", "exec </dev/null >/dev/null 2>&1; "+strings.NewReplacer("$1", `"$1"`, "$2", `"$2"`).Replace(script), "sh", h.folder, h.inbox)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if h.as != nil {
		h.as.as(cmd)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	return hung{cmd, h.t}
}

func (c hung) mustEnd() {
	c.t.Helper()
	if err := c.Wait(); err != nil {
		c.t.Fatal(err)
	}
}

// wantFree fails the test unless the mount's process, and whoever waited for it, has ended, and the
// archive can be mounted again at once.
func (h *hanging) wantFree() {
	h.t.Helper()
	_ = h.program.wait() // with what, the tests of the endings say
	for _, cmd := range h.stuck {
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // most fail
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			h.t.Fatalf("process %d waits for a mount whose process is gone", cmd.Process.Pid)
		}
	}
	h.mount()
	h.program.stop()
}

// Whatever waits for the service, the process of a mount ends when it shall, and with it all that
// waited for the mount.
func TestEndsWhateverHangs(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	for name, change := range map[string][2]string{
		"mv":    {"/document/{id}/archive", "mv $2/in.txt $1/"},
		"mkdir": {"/folder/create", "mkdir $1/new"},
	} {
		for ending, end := range map[string]func(*hanging){
			"SIGTERM":  func(h *hanging) { h.program.signal(syscall.SIGTERM) },
			"Ctrl-C":   func(h *hanging) { h.program.signal(syscall.SIGINT) },
			"SIGKILL":  func(h *hanging) { h.program.signal(syscall.SIGKILL) },
			"watchdog": func(h *hanging) { h.program.signal(syscall.SIGABRT) },
			"unmount --force": func(h *hanging) {
				h.start("unmount", "--force", h.dir).wantExit(0)
			},
			"umount -l, then SIGTERM": func(h *hanging) {
				if err := syscall.Unmount(h.dir, syscall.MNT_DETACH); err != nil {
					h.t.Fatal(err)
				}
				h.program.signal(syscall.SIGTERM)
			},
			"umount -f": func(h *hanging) {
				if err := syscall.Unmount(h.dir, syscall.MNT_FORCE); err != nil && !errors.Is(err, syscall.EBUSY) {
					h.t.Fatal(err)
				}
			},
			"unmount, then SIGTERM": func(h *hanging) {
				start(h.t, "unmount", "--drain", "1s", h.dir).wantExit(1)
				h.program.signal(syscall.SIGTERM)
			},
		} {
			t.Run(name+"/"+ending, func(t *testing.T) {
				t.Parallel()
				h := newHanging(t, nil, change[0], change[1])
				unmountAtEnd(t, h.dir)
				end(h)
				h.wantFree()
			})
		}
	}
}

// So it does where the mount is a user's, who may not abort it but where the kernel's list of connections is
// mounted.
func TestEndsAUsersMountWhateverHangs(t *testing.T) {
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be other users")
	}
	isolate(t)
	for ending, end := range map[string]func(*hanging){
		"SIGTERM":         func(h *hanging) { h.program.signal(syscall.SIGTERM) },
		"watchdog":        func(h *hanging) { h.program.signal(syscall.SIGABRT) },
		"unmount --force": func(h *hanging) { h.start("unmount", "--force", h.dir).wantExit(0) },
		"umount -l, then SIGTERM": func(h *hanging) {
			if err := syscall.Unmount(h.dir, syscall.MNT_DETACH); err != nil {
				h.t.Fatal(err)
			}
			h.program.signal(syscall.SIGTERM)
		},
	} {
		t.Run(ending, func(t *testing.T) {
			h := newHanging(t, newPerson(t, "daemon"), "/document/{id}/archive", "mv $2/in.txt $1/")
			end(h)
			h.wantFree()
		})
	}
}
