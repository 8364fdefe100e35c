package fs_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// run starts a program that ends with the test.
func run(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // a second Wait fails
	return cmd
}

// patient mounts with a time-out of an hour, so that a request that ends earlier was interrupted.
func (f *foreign) patient(t *testing.T) *mounted {
	t.Helper()
	m := f.mount(t, nil)
	m.stall = time.Hour
	m.remount()
	return m
}

// ends fails the test unless the program ends long before the request that it waits for.
func ends(t testing.TB, cmd *exec.Cmd) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s still runs", strings.Join(cmd.Args, " "))
		return nil
	}
}

// Ctrl-C ends every wait for the service at once.
func TestInterruptEndsAReader(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		do         func(*hostile.Gate) hostile.Action
		command    []string
	}{
		{"cat before the answer", "/document/{id}/pdf", hostile.StallBefore, []string{"cat", "Rechnungen/big.txt"}},
		{"cat within the content", "/document/{id}/pdf", func(g *hostile.Gate) hostile.Action { return hostile.StallBody(200_000, g) }, []string{"cat", "Rechnungen/big.txt"}},
		{"tail at its end", "/document/{id}/pdf", func(g *hostile.Gate) hostile.Action { return hostile.StallBody(10, g) }, []string{"tail", "-c", "10", "Rechnungen/big.txt"}},
		{"ls of documents", "/document/list", hostile.StallBefore, []string{"ls", "Briefe"}},
		{"ls of folders", "/archivestructure", hostile.StallBefore, []string{"ls", "Briefe"}},
		{"stat of a name", "/document/list", hostile.StallBefore, []string{"stat", "Briefe/a.txt"}},
		{"ls of inboxes", "/inboxes", hostile.StallBefore, []string{"ls", "../inboxes"}},
		{"getfattr", "/document/{id}/data", hostile.StallBefore, []string{"getfattr", "-n", "user.archive.data", "Rechnungen/big.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
			f.AddDocument(f.bills, hostile.Document{Name: "big.txt", Content: bytes.Repeat([]byte("x"), 1<<20), Pages: 1})
			m := f.patient(t)
			wantNames(t, m.path("Muster GmbH", "Rechnungen"), "big.txt")
			gate := hostile.NewGate()
			defer gate.Open()
			f.Fault(hostile.Fault{Method: "GET", Path: tt.path, Times: hostile.Always, Do: tt.do(gate)})
			cmd := run(t, "env", append([]string{"-C", m.path("Muster GmbH")}, tt.command...)...)
			<-gate.Arrived()
			must(t, cmd.Process.Signal(os.Interrupt))
			if err := ends(t, cmd); err == nil {
				t.Error("ended without an error")
			}
		})
	}
}

// A signal that is no request to end, such as a timer's, does not make a request fail, however often it comes: git and
// many others take EINTR for an error of the disk. Ctrl-C still ends the wait, also where the program catches it.
func TestATimerEndsNoReader(t *testing.T) {
	for _, tt := range []struct{ name, path, read string }{
		{"a length", "/document/list", `stat "Briefe/a.txt"`},
		{"a folder", "/document/list", `opendir D, "Briefe"`},
		{"a content", "/document/{id}/pdf", `open F, "Rechnungen/big.txt" and sysread(F, $_, 10) == 10`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
			f.AddDocument(f.letters, hostile.Document{Name: "a.txt", Content: []byte("Inhalt"), Pages: 1})
			f.AddDocument(f.bills, hostile.Document{Name: "big.txt", Content: bytes.Repeat([]byte("x"), 1<<20), Pages: 1})
			m := f.patient(t)
			wantNames(t, m.path("Muster GmbH", "Rechnungen"), "big.txt")
			wait := func() (*hostile.Gate, *exec.Cmd) {
				gate := hostile.NewGate()
				t.Cleanup(gate.Open)
				f.Fault(hostile.Fault{Method: "GET", Path: tt.path, Times: hostile.Always, Do: hostile.StallBefore(gate)})
				cmd := run(t, "env", "-C", m.path("Muster GmbH"), "perl", "-e",
					`$SIG{ALRM} = sub { print STDERR "timer " }; $SIG{INT} = sub {}; (`+tt.read+`) or die "$!"`)
				<-gate.Arrived()
				must(t, cmd.Process.Signal(syscall.SIGALRM))
				return gate, cmd
			}
			_, caught := wait()
			time.Sleep(300 * time.Millisecond) // the first signal has had its effect, if any
			must(t, caught.Process.Signal(os.Interrupt))
			if err := ends(t, caught); err == nil || !strings.Contains(fmt.Sprint(caught.Stderr), "Interrupted system call") {
				t.Errorf("after Ctrl-C: %v: %s", err, caught.Stderr)
			}
			f.ClearFaults()
			m.remount()
			wantNames(t, m.path("Muster GmbH", "Rechnungen"), "big.txt")
			gate, cmd := wait()
			for range 3 {
				time.Sleep(50 * time.Millisecond)
				must(t, cmd.Process.Signal(syscall.SIGALRM))
			}
			gate.Open()
			if err := ends(t, cmd); err != nil || !strings.Contains(fmt.Sprint(cmd.Stderr), "timer") {
				t.Errorf("after timers: %v: %s", err, cmd.Stderr)
			}
		})
	}
}

// A service that sends a byte now and then holds no program for long.
func TestTricklingAnswersEnd(t *testing.T) {
	for _, tt := range []struct{ name, command string }{
		{"cp", "cp Rechnungen/cached.txt Briefe/new.txt"},
		{"mv", "mv ../inboxes/Administrator/scan.txt Briefe"},
		{"mkdir", "mkdir new"},
		{"rm", "rm ../inboxes/Administrator/scan.txt"},
		{"ls", "ls Briefe"},
		{"ls of inboxes", "ls ../inboxes/Administrator"},
		{"cat", "cat Rechnungen/big.txt"},
		{"setfattr", "setfattr -n user.archive.auto-export -v true Rechnungen/big.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
			f.AddDocument(f.bills, hostile.Document{Name: "cached.txt", Content: []byte("cached"), Pages: 1})
			f.AddDocument(f.bills, hostile.Document{Name: "big.txt", Content: bytes.Repeat([]byte("x"), 1<<20), Pages: 1})
			f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan"), Pages: 1})
			m := f.mount(t, func(o *fs.Options) { o.AllowDelete = true })
			m.stall = 3 * time.Second
			m.remount()
			wantContent(t, m.path("Muster GmbH", "Rechnungen", "cached.txt"), "cached")
			f.Fault(hostile.Fault{Times: hostile.Always, Do: hostile.Trickle(200 * time.Millisecond)})
			cmd := run(t, "env", "-C", m.path("Muster GmbH"), "sh", "-c", tt.command)
			_ = ends(t, cmd) // with or without an error
			f.ClearFaults()
		})
	}
}

// Documents that hang block nothing else: no other document, no listing, and nothing that is
// cached.
func TestDocumentsThatHang(t *testing.T) {
	for _, tt := range []struct {
		name               string
		documents, readers int // of each
		others             bool
	}{
		{"one", 1, 1, true},
		{"one, with many readers", 1, 100, true},
		{"more than there are connections", 30, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
			for i := range tt.documents {
				f.AddDocument(f.bills, hostile.Document{Name: fmt.Sprintf("hangs %d.txt", i), Content: bytes.Repeat([]byte("x"), 1<<20), Pages: 1})
			}
			f.AddDocument(f.letters, hostile.Document{Name: "cached.txt", Content: []byte("cached"), Pages: 1})
			f.AddDocument(f.letters, hostile.Document{Name: "other.txt", Content: []byte("other"), Pages: 1})
			f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan"), Pages: 1})
			m := f.patient(t)
			wantContent(t, m.path("Muster GmbH", "Briefe", "cached.txt"), "cached")
			m.remount() // so that the kernel has nothing of it
			gate := hostile.NewGate()
			defer gate.Open()
			f.Fault(hostile.Fault{Method: "GET", Path: "/document/{id}/pdf", Times: min(tt.documents, 12), Do: hostile.StallBody(1000, gate)})
			var readers []*exec.Cmd
			for i := range tt.documents {
				for range tt.readers {
					readers = append(readers, run(t, "cat", m.path("Muster GmbH", "Rechnungen", fmt.Sprintf("hangs %d.txt", i))))
				}
			}
			for range min(tt.documents, 12) {
				<-gate.Arrived()
			}
			look := []string{
				"ls " + m.path("inboxes", "Administrator"), "ls -l " + m.path("'Muster GmbH'", "Rechnungen"),
				"cat " + m.path("'Muster GmbH'", "Briefe", "cached.txt"), "mkdir " + m.path("'Muster GmbH'", "new"),
			}
			if tt.others {
				look = append(look, "cat "+m.path("'Muster GmbH'", "Briefe", "other.txt"))
			}
			for _, script := range look {
				cmd := run(t, "sh", "-c", script)
				if err := ends(t, cmd); err != nil {
					t.Errorf("%s: %v", script, err)
				}
			}
			gate.Open()
			for _, cmd := range readers {
				must(t, ends(t, cmd))
			}
		})
	}
}
