package fs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// onBehalf notes on whose behalf the service is called.
type onBehalf struct {
	anyArchive
	calls chan string
}

func (o onBehalf) note(ctx context.Context, call string) {
	uid, ok := fs.Person(ctx)
	o.calls <- fmt.Sprintf("%s %d %v", call, uid, ok)
}

func (o onBehalf) Documents(ctx context.Context, folder archive.ID, list archive.ListOptions) ([]archive.Document, error) {
	o.note(ctx, "list")
	return o.anyArchive.Documents(ctx, folder, list)
}

func (o onBehalf) Content(ctx context.Context, r archive.ContentRequest) (*archive.Content, error) {
	o.note(ctx, "read")
	return o.anyArchive.Content(ctx, r)
}

func (o onBehalf) Upload(ctx context.Context, up archive.Upload, body archive.Blob) (archive.ID, error) {
	o.note(ctx, "upload")
	return o.anyArchive.Upload(ctx, up, body)
}

// A request to the service is sent on behalf of the user whose program needs it, one of the queue on
// nobody's: people share the connections to the service by that.
func TestOnWhoseBehalfRequestsAreSent(t *testing.T) {
	for _, async := range []bool{false, true} {
		f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
		f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("text"), Pages: 1})
		calls := make(chan string, 100)
		m := f.mount(t, func(o *fs.Options) { o.Archive, o.Async = onBehalf{o.Archive, calls}, async })
		me := fmt.Sprintf("%d true", os.Getuid())
		want := []string{"list " + me, "read " + me, "upload " + me}
		if async {
			want[2] = "upload 0 false"
		}
		must(t, ends(t, run(t, "cat", m.path("Muster GmbH", "Rechnungen", "a.txt"))))
		must(t, ends(t, run(t, "cp", m.path("Muster GmbH", "Rechnungen", "a.txt"), m.path("Muster GmbH", "Rechnungen", "b.txt"))))
		m.unmount() // it waits for the queue
		close(calls)
		got := map[string]bool{}
		for call := range calls {
			got[call] = true
		}
		for _, call := range want {
			if !got[call] {
				t.Errorf("async %v: there is no %q in %v", async, call, got)
			}
		}
	}
}

// A program that is killed while it waits for the service ends at once, and its request continues:
// the next listing shows the result.
func TestAKilledCallerLeavesAndTheChangeGoesOn(t *testing.T) {
	for _, tt := range []struct {
		name, method, path string
		command            []string
		makes, takes       string // paths that exist, or do not exist, afterwards
	}{
		{"cp", "POST", "/file-upload", []string{"cp", "{source}", "Muster GmbH/Rechnungen/new.txt"}, "Muster GmbH/Rechnungen/new.txt", ""},
		{"mv into a folder", "POST", "/document/{id}/archive", []string{"mv", "inboxes/Administrator/scan.txt", "Muster GmbH/Rechnungen"}, "Muster GmbH/Rechnungen/scan.txt", "inboxes/Administrator/scan.txt"},
		{"mv to another name", "POST", "/document/{id}/rename", []string{"mv", "inboxes/Administrator/scan.txt", "inboxes/Administrator/other.txt"}, "inboxes/Administrator/other.txt", "inboxes/Administrator/scan.txt"},
		{"mv of a temporary file", "POST", "/file-upload", []string{"mv", "Muster GmbH/Rechnungen/new.part", "Muster GmbH/Rechnungen/new.txt"}, "Muster GmbH/Rechnungen/new.txt", "Muster GmbH/Rechnungen/new.part"},
		{"mkdir", "POST", "/folder/create", []string{"mkdir", "Muster GmbH/new"}, "Muster GmbH/new", ""},
		{"rm", "POST", "/document/{id}/delete", []string{"rm", "inboxes/Administrator/scan.txt"}, "", "inboxes/Administrator/scan.txt"},
		{"truncate", "POST", "/document/{id}/replace", []string{"truncate", "-s", "2", "inboxes/Administrator/scan.txt"}, "inboxes/Administrator/scan.txt", ""},
		{"setfattr", "POST", "/document/auto_export_status/set", []string{"setfattr", "-n", "user.archive.auto-export", "-v", "true", "inboxes/Administrator/scan.txt"}, "inboxes/Administrator/scan.txt", ""},
	} {
		for _, sig := range []os.Signal{os.Kill, os.Interrupt} {
			t.Run(fmt.Sprint(tt.name, ", ", sig), func(t *testing.T) {
				f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
				f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan"), Pages: 1})
				m := f.mount(t, func(o *fs.Options) { o.AllowDelete = true })
				m.stall = time.Hour
				m.remount()
				wantNames(t, m.path("inboxes", "Administrator"), "scan.txt")
				wantNames(t, m.path("Muster GmbH", "Rechnungen"))
				must(t, os.WriteFile(m.path("Muster GmbH", "Rechnungen", "new.part"), []byte("text"), 0o600))
				source := filepath.Join(t.TempDir(), "source")
				must(t, os.WriteFile(source, []byte("text"), 0o600))
				gate := hostile.NewGate()
				defer gate.Open()
				f.Fault(hostile.Fault{Method: tt.method, Path: tt.path, Do: hostile.StallBefore(gate)})
				command := append([]string{"-C", m.dir}, tt.command...)
				for i, arg := range command {
					if arg == "{source}" {
						command[i] = source
					}
				}
				cmd := run(t, "env", command...)
				arrives(t, gate)
				must(t, cmd.Process.Signal(sig))
				if err := ends(t, cmd); err == nil {
					t.Error("ended without an error")
				}
				gate.Open()
				heals(t, "the change shows", func() bool {
					_, made := os.Stat(m.path(tt.makes))
					_, taken := os.Stat(m.path(tt.takes))
					return made == nil && (tt.takes == "" || errors.Is(taken, os.ErrNotExist))
				})
				m.remount()
				for _, r := range f.Requests() {
					if r.Struck && !r.Handled {
						t.Errorf("%s %s was given up", r.Method, r.Path)
					}
				}
				if up := m.uploads(); len(up) > 0 {
					t.Errorf("%+v is left", up)
				}
			})
		}
	}
}

// arrives waits for a request at the gate.
func arrives(t *testing.T, gate *hostile.Gate) {
	t.Helper()
	select {
	case <-gate.Arrived():
	case <-time.After(time.Minute):
		t.Fatal("the service was not asked")
	}
}

// A signal that a program handles does not end its call.
func TestASignalAloneEndsNoChange(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	m := f.patient(t)
	wantNames(t, m.path("Muster GmbH"), "Briefe", "Rechnungen")
	gate := hostile.NewGate()
	defer gate.Open()
	f.Fault(hostile.Fault{Method: "POST", Path: "/folder/create", Do: hostile.StallBefore(gate)})
	cmd := run(t, "python3", "-c", "import os,signal,sys\nsignal.signal(signal.SIGUSR1, lambda *a: None)\nos.mkdir(sys.argv[1])", m.path("Muster GmbH", "new"))
	arrives(t, gate)
	for range 10 {
		must(t, cmd.Process.Signal(syscall.SIGUSR1))
	}
	gate.Open()
	must(t, ends(t, cmd))
	wantNames(t, m.path("Muster GmbH"), "Briefe", "Rechnungen", "new")
}
