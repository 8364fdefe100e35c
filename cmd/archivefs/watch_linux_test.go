package main

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/testing/bustest"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// watcher gets the events of a folder, as a file manager does.
type watcher struct {
	t    *testing.T
	file *os.File
	seen []string // events, as "come NAME", "gone NAME" and "same NAME" of one whose attributes changed
}

func newWatcher(t *testing.T, dir string) *watcher {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{t: t, file: os.NewFile(uintptr(fd), "inotify")}
	t.Cleanup(func() { _ = w.file.Close() })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_ATTRIB); err != nil {
		t.Fatal(err)
	}
	return w
}

// sees waits until all these events have come, in any order.
func (w *watcher) sees(events ...string) {
	w.t.Helper()
	if err := w.file.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		w.t.Fatal(err)
	}
	buf := make([]byte, 1<<16)
	for slices.ContainsFunc(events, func(e string) bool { return !slices.Contains(w.seen, e) }) {
		n, err := w.file.Read(buf)
		if err != nil {
			w.t.Fatalf("saw %q and then nothing more (%v), want %q", w.seen, err, events)
		}
		for rest := buf[:n]; len(rest) > 0; {
			mask, length := leUint32(rest[4:]), leUint32(rest[12:])
			name := string(bytes.TrimRight(rest[16:16+length], "\x00"))
			switch {
			case mask&unix.IN_CREATE != 0:
				w.seen = append(w.seen, "come "+name)
			case mask&unix.IN_DELETE != 0:
				w.seen = append(w.seen, "gone "+name)
			case mask&unix.IN_ATTRIB != 0:
				w.seen = append(w.seen, "same "+name)
			}
			rest = rest[16+length:]
		}
	}
}

func leUint32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// wantNoMore fails the test unless there was one event of each kind.
func (w *watcher) wantNoMore() {
	w.t.Helper()
	slices.Sort(w.seen)
	if once := slices.Compact(slices.Clone(w.seen)); len(once) != len(w.seen) {
		w.t.Errorf("saw %q, each should come once", w.seen)
	}
}

// What others put into a folder that somebody has looked at, or take from it, is told to the programs
// that wait for events there, and is there when they look.
func TestWatchedFolderTellsWhatOthersChange(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	bus := bustest.Start(t)
	signals := bus.Signals("org.kde.KDirNotify")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	for name, known := range map[string]bool{"the kernel knows the names": true, "the kernel does not know the names": false} {
		t.Run(name, func(t *testing.T) {
			service := hostile.New(hostile.Config{Credentials: hostile.Credentials{APIKey: "k"}})
			mandator := service.AddMandator("Muster GmbH")
			folder := service.AddFolder(mandator, "Briefe")
			empty := service.AddFolder(folder, "Leer")
			old := service.AddDocument(folder, hostile.Document{Name: "alt.txt", Content: []byte("alt")})
			kept := service.AddDocument(folder, hostile.Document{Name: "bleibt.txt", Content: []byte("bleibt")})
			url, dir := service.Start(t), t.TempDir()
			m := startMount(t, dir, "--base-url", url, "--api-key", "k", "--state-dir", filepath.Join(t.TempDir(), "state"), "--watch", "1s", "--ttl", "1s", "--windows-names")
			m.line("mounted ")
			abortAtEnd(t, dir, m)
			at := filepath.Join(dir, "Muster GmbH", "Briefe")
			w := newWatcher(t, at)
			if known {
				wantFile(t, filepath.Join(at, "alt.txt"), "alt")
				if _, err := os.Stat(filepath.Join(at, "Leer")); err != nil {
					t.Fatal(err)
				}
			}
			wantEntries(t, at, "Leer alt.txt bleibt.txt")
			if err := os.WriteFile(filepath.Join(at, "eigen.txt"), []byte("eigen"), 0o600); err != nil {
				t.Fatal(err)
			}
			w.sees("come eigen.txt")
			sent := service.Count("POST", "")
			service.AddDocument(folder, hostile.Document{Name: "neu.txt", Content: []byte("neu")})
			service.AddFolder(folder, "Ordner")
			service.AddFolder(folder, "Bäcker e.K.")
			service.Change(kept, func(d *hostile.Document) { d.Name = "umbenannt.txt" })
			service.Remove(old)
			service.RemoveFolder(empty)
			w.sees("come neu.txt", "come Ordner", "come Bäcker e.K\uf029", "come umbenannt.txt", "gone bleibt.txt", "gone alt.txt", "gone Leer")
			wantFile(t, filepath.Join(at, "neu.txt"), "neu")
			wantFile(t, filepath.Join(at, "umbenannt.txt"), "bleibt")
			wantFile(t, filepath.Join(at, "eigen.txt"), "eigen")
			wantEntries(t, at, "Bäcker e.K\uf029 Ordner eigen.txt neu.txt umbenannt.txt")
			wantEntries(t, filepath.Join(at, "Ordner"), "")
			for _, name := range []string{"alt.txt", "bleibt.txt", "Leer"} {
				if _, err := os.Stat(filepath.Join(at, name)); !os.IsNotExist(err) {
					t.Errorf("%s has gone, and is there: %v", name, err)
				}
			}
			for told := map[string]bool{}; !told["FilesAdded file://"+strings.ReplaceAll(at, " ", "%20")] || !told["FilesRemoved"]; {
				signal := awaits(t, "the programs of KDE are told", signals)
				member := strings.TrimPrefix(signal.Name, "org.kde.KDirNotify.")
				told[member] = true
				told[member+" "+fmt.Sprint(signal.Body...)] = true
			}
			if n := service.Count("POST", "") - sent; n != 0 {
				t.Errorf("%d changes were sent to the service", n)
			}
			w.wantNoMore()
			m.stop()
		})
	}
}

// A program that lists a whole archive does not make its folders watched; one at which a person looks is.
func TestWalksAreNotWatched(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	service := hostile.New(hostile.Config{Credentials: hostile.Credentials{APIKey: "k"}})
	mandator := service.AddMandator("Muster GmbH")
	for i := range 30 {
		service.AddFolder(mandator, fmt.Sprintf("Ordner %d", i))
	}
	dir := t.TempDir()
	m := startMount(t, dir, "--base-url", service.Start(t), "--api-key", "k", "--state-dir", filepath.Join(t.TempDir(), "state"), "--watch", "1s", "--ttl", "1h")
	m.line("mounted ")
	abortAtEnd(t, dir, m)
	if out, err := exec.CommandContext(t.Context(), "find", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	last := filepath.Join(dir, "Muster GmbH", "Ordner 29")
	wantEntries(t, last, "")
	service.Reset()
	heals(t, "the last folder is listed again and again", func() bool { return service.Count("GET", "/document/list") > 20 })
	folders := map[string]bool{}
	for _, r := range service.RequestsTo("GET", "/document/list") {
		folders[r.Query.Get("folder-id")] = true
	}
	if len(folders) > 3 { // the walk shows after its first ones
		t.Errorf("%d folders are watched", len(folders))
	}
	m.stop()
}

// A file manager that was refused a thumbnail looks for it again when it has come: the document's
// attributes change, once. Nothing is downloaded or changed for that.
func TestShownFolderTellsOfThumbnails(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	service := hostile.New(hostile.Config{Credentials: hostile.Credentials{APIKey: "k"}})
	folder := service.AddFolder(service.AddMandator("Muster GmbH"), "Briefe")
	var preview bytes.Buffer
	if err := jpeg.Encode(&preview, image.NewGray(image.Rect(0, 0, 18, 25)), nil); err != nil {
		t.Fatal(err)
	}
	service.AddDocument(folder, hostile.Document{Name: "a.pdf", Content: []byte("a"), Pages: 1, Preview: preview.Bytes()})
	service.AddDocument(folder, hostile.Document{Name: "b.pdf", Content: []byte("b"), Pages: 1, Preview: preview.Bytes()})
	service.AddDocument(folder, hostile.Document{Name: "c.pdf", Content: []byte("c"), Pages: 1})
	url, dir := service.Start(t), t.TempDir()
	m := startMount(t, dir, "--base-url", url, "--api-key", "k", "--state-dir", filepath.Join(t.TempDir(), "state"))
	m.line("mounted ")
	abortAtEnd(t, dir, m)
	at := filepath.Join(dir, "Muster GmbH", "Briefe")
	w := newWatcher(t, at)
	browse(t, "thunar", at)
	w.sees("same a.pdf", "same b.pdf")
	wantEntries(t, at, "a.pdf b.pdf c.pdf")
	browse(t, "thunar", at) // they have theirs
	m.stop()
	w.wantNoMore()
	if slices.Contains(w.seen, "same c.pdf") {
		t.Errorf("saw %q", w.seen)
	}
	if n := service.Count("POST", "") + service.Count("GET", "/pdf"); n != 0 {
		t.Errorf("%d documents were downloaded or changed", n)
	}
}

// browse lists a directory as a program of that name does.
func browse(t *testing.T, program, dir string) {
	t.Helper()
	ls, err := exec.LookPath("ls")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(ls)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), program)
	if err := os.WriteFile(path, content, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), path, dir).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
}
