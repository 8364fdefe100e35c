package fs_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// A walk over a whole archive requests each folder once, and no content.
func TestWalksOverTheWholeArchive(t *testing.T) {
	f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
	for i := range 1000 {
		f.AddDocument(f.bills, hostile.Document{
			Name: fmt.Sprintf("Rechnung %d.pdf", i), Content: []byte("x"), Notes: []string{"a note"}, Keywords: []string{"k"},
		})
	}
	m, _ := f.slow(t)
	for _, tt := range []struct {
		tool  []string
		lines int // with "Rechnung " in them
	}{
		{[]string{"ls", "-l", m.path("Muster GmbH", "Rechnungen")}, 1000},
		{[]string{"ls", "-laR", m.dir}, 1000},
		{[]string{"find", m.dir, "-type", "f", "-size", "-2"}, 1000},
		{[]string{"getfattr", "-d", "-R", m.dir}, 2000},
	} {
		before := len(f.Requests())
		out := string(get(exec.CommandContext(t.Context(), tt.tool[0], tt.tool[1:]...).CombinedOutput())(t))
		if n := strings.Count(out, "Rechnung "); n != tt.lines {
			t.Errorf("%s shows %d documents", tt.tool[0], n)
		}
		if n := len(f.Requests()) - before; n > 9 {
			t.Errorf("%s took %d requests", tt.tool[0], n)
		}
	}
	if n := f.Count("", "/document/{id}/data") + f.Count("GET", "/document/{id}/pdf"); n != 0 {
		t.Errorf("%d requests for single documents", n)
	}
}

func TestNamesThatCollideOrAreLong(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddFolder(f.bills, "2024.txt")
	f.AddFolder(f.bills, "2024.txt")
	long := strings.Repeat("ä", 140) + ".txt"
	for _, name := range []string{"2024.txt", "2024 (1).txt", "2024.txt", long, long, "Brief.e\u0301.txt", "Brief.é.txt"} {
		f.AddDocument(f.bills, hostile.Document{Name: name, Content: []byte(name)})
	}
	m, _ := f.slow(t)
	dir := m.path("Muster GmbH", "Rechnungen")
	fitted := strings.Repeat("ä", 125) + ".txt"
	told := strings.Repeat("ä", 123) + " (5).txt"
	wantNames(t, dir, "2024.txt", "2024.txt (6)", "2024 (1).txt", "2024 (1) (2).txt", "2024 (3).txt",
		fitted, told, "Brief.e\u0301.txt", "Brief.é.txt")
	for _, name := range []string{fitted, told} {
		wantContent(t, filepath.Join(dir, name), long)
	}
	wantContent(t, filepath.Join(dir, "2024 (1) (2).txt"), "2024 (1).txt")
	wantContent(t, filepath.Join(dir, "2024 (3).txt"), "2024.txt")
	_, err := os.Stat(filepath.Join(dir, strings.Repeat("n", 256)))
	wantErrno(t, "a name of 256 bytes", err, syscall.ENAMETOOLONG)
}

// Many concurrent listers of one folder take one request.
func TestManyListersOfOneFolder(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
	m, _ := f.slow(t)
	gate := hostile.NewGate()
	f.Fault(hostile.Fault{Path: "/document/list", Do: hostile.StallBefore(gate)})
	var listers sync.WaitGroup
	for range 8 {
		listers.Go(func() {
			out, err := exec.CommandContext(t.Context(), "ls", m.path("Muster GmbH", "Rechnungen")).Output()
			if err != nil || string(out) != "a.txt\n" {
				t.Errorf("ls: %q, %v", out, err)
			}
		})
	}
	<-gate.Arrived()
	gate.Open()
	listers.Wait()
	lists := slices.DeleteFunc(f.RequestsTo("GET", "/document/list"), func(r hostile.Request) bool {
		return r.Query.Get("folder-id") != fmt.Sprint(f.bills)
	})
	if len(lists) != 1 {
		t.Errorf("%d listings", len(lists))
	}
}

// A lister of a stalled service leaves when it is interrupted, and the next one is served.
func TestStalledListerIsInterrupted(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	m, _ := f.slow(t)
	gate := hostile.NewGate()
	f.Fault(hostile.Fault{Path: "/document/list", Do: hostile.StallBefore(gate)})
	ls := exec.CommandContext(t.Context(), "ls", m.path("Muster GmbH", "Rechnungen"))
	must(t, ls.Start())
	<-gate.Arrived()
	must(t, ls.Process.Signal(os.Interrupt))
	if err := ls.Wait(); err == nil {
		t.Error("ls succeeded")
	}
	wantNames(t, m.path("Muster GmbH", "Rechnungen"))
	gate.Open()
}

// Refused credentials stop the requests, so that no account is locked.
func TestRefusedCredentialsPauseRequests(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	for i := range 20 {
		f.AddDocument(f.bills, hostile.Document{Name: fmt.Sprintf("%d.txt", i), Content: []byte("a")})
	}
	m, _ := f.slow(t)
	dir := m.path("Muster GmbH", "Rechnungen")
	all := names(t, dir)
	f.Reset()
	f.Fault(hostile.Fault{Times: hostile.Always, Do: hostile.Answer(401, "")})
	for _, name := range all {
		_, err := os.ReadFile(filepath.Join(dir, name))
		wantErrno(t, "read with refused credentials", err, syscall.EACCES)
	}
	if n := len(f.Requests()); n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
}

// read never answers EAGAIN, which programs take for the end of the file.
func TestBusyServiceWhileReading(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<15)
	f.AddDocument(f.bills, hostile.Document{Name: "a.bin", Content: content})
	m, _ := f.slow(t)
	path := m.path("Muster GmbH", "Rechnungen", "a.bin")
	f.Fault(hostile.Fault{Method: "GET", Path: "/document/{id}/pdf", Do: hostile.Truncate(100_000)})
	f.Fault(hostile.Fault{Method: "GET", Path: "/document/{id}/pdf", Nth: 2, Times: hostile.Always, Do: hostile.Answer(503, "", "Retry-After", "60")})
	got, err := os.ReadFile(path)
	wantErrno(t, "read", err, syscall.EIO)
	if !bytes.HasPrefix(content, got) {
		t.Error("other bytes were read")
	}
	_, err = os.ReadFile(path)
	wantErrno(t, "open", err, syscall.EAGAIN)
}

// Link counts and times of directories suit find and backup programs.
func TestAttributesOfDirectories(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m, _ := f.slow(t)
	for _, dir := range []string{m.dir, m.path("Muster GmbH"), m.path("Muster GmbH", "Rechnungen"), m.path("inboxes"), m.path(".archivefs")} {
		info := get(os.Stat(dir))(t)
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Nlink != 1 || !info.IsDir() || info.ModTime().IsZero() || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", dir, info)
		}
		if again := get(os.Stat(dir))(t); !again.ModTime().Equal(info.ModTime()) {
			t.Errorf("%s: its time changes by itself", dir)
		}
	}
}
