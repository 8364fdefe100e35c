package fs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func TestManyFilesAtOnceIntoOneFolder(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	const writers, each = 8, 12
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				name := filepath.Join(dir, fmt.Sprintf("%d-%d.txt", w, i))
				content := bytes.Repeat([]byte(name), 1+i*1000)
				if err := os.WriteFile(name, content, 0o600); err != nil {
					t.Errorf("write: %v", err)
				}
				if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, content) {
					t.Errorf("read back %s: %d bytes, %v", name, len(got), err)
				}
			}
		})
		wg.Go(func() {
			for range each {
				if _, err := os.ReadDir(dir); err != nil {
					t.Errorf("list: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(o.documents(t, o.letters)); n != writers*each {
		t.Errorf("%d documents, want %d", n, writers*each)
	}
	want := make([]string, 0, writers*each)
	for w := range writers {
		for i := range each {
			want = append(want, fmt.Sprintf("%d-%d.txt", w, i))
		}
	}
	wantNames(t, dir, want...)
	if n := len(o.asked("POST", "/file-upload")); n != writers*each {
		t.Errorf("%d uploads", n)
	}
}

// A name that a listing adds while its own upload is in flight shows once.
func TestListingDuringAnUploadShowsItOnce(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	gate := hostile.NewGate()
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Nth: 1, Times: 1, Do: hostile.StallAfter(gate)})
	done := make(chan error)
	go func() { done <- os.WriteFile(filepath.Join(dir, "a.txt"), []byte("Inhalt"), 0o600) }()
	<-gate.Arrived() // the archive has it, but close has no answer yet
	must(t, os.WriteFile(filepath.Join(dir, "b.txt"), []byte("b"), 0o600))
	wantNames(t, dir, "a.txt", "b.txt")
	gate.Open()
	must(t, <-done)
	wantNames(t, dir, "a.txt", "b.txt")
	wantContent(t, filepath.Join(dir, "a.txt"), "Inhalt")
}

// Open handles keep the bytes of a file, whatever happens to it.
func TestReaderDuringAnUpload(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	for i := range 20 {
		path := m.path("Muster GmbH", "Briefe", strconv.Itoa(i)+".bin")
		content := bytes.Repeat([]byte{byte(i + 1)}, 300_000)
		w := get(os.Create(path))(t)
		get(w.Write(content))(t)
		must(t, w.Sync())
		r := get(os.Open(path))(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			buf := make([]byte, 4096)
			for n := range 200 {
				off := int64(n*4096) % 290_000
				if _, err := r.ReadAt(buf, off); err != nil || !bytes.Equal(buf, content[:4096]) {
					t.Errorf("read at %d: %v", off, err)
					return
				}
			}
		})
		must(t, w.Close())
		wg.Wait()
		if got := get(io.ReadAll(io.NewSectionReader(r, 0, 1<<20)))(t); !bytes.Equal(got, content) {
			t.Errorf("after the upload %d bytes", len(got))
		}
		must(t, r.Close())
	}
}

// If a second process still writes when the first one closes, the file is finished by the second
// close. The first close returned success, so the file stays, as failed, and can be overwritten.
func TestTwoWritersWithHandlesOfTheirOwn(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Nth: 1, Times: 1, Do: hostile.Answer(400, "no")})
	path := m.path("Muster GmbH", "Briefe", "a.txt")
	sh(t, m, `f="$1/Muster GmbH/Briefe/a.txt"
		fifo=$(mktemp -u); mkfifo "$fifo"
		exec 3> "$f"; printf one >&3
		( exec 3>&-; exec python3 -c 'import os,sys
fd=os.open(sys.argv[1],os.O_WRONLY|os.O_APPEND)
os.write(fd,b"two")
open(sys.argv[2],"w").close()
open(sys.argv[2]+"2").read()
try:
  os.close(fd)
except OSError: sys.exit(0)
sys.exit(1)' "$f" "$fifo" ) & child=$!
		mkfifo "$fifo"2; : < "$fifo"
		exec 3>&- || true
		: > "$fifo"2; rm "$fifo" "$fifo"2
		wait $child`)
	wantContent(t, path, "onetwo")
	if ups := m.uploads(); len(ups) != 1 || ups[0].State != "failed" || ups[0].Size != 6 {
		t.Errorf("uploads: %+v", ups)
	}
	m.remount()
	wantContent(t, path, "onetwo")
	must(t, os.WriteFile(path, []byte("three"), 0o600))
	if docs := f.Documents(f.letters); len(docs) != 1 || string(docs[0].Content) != "three" {
		t.Errorf("the archive holds %v", docs)
	}
	if ups := m.uploads(); len(ups) != 0 {
		t.Errorf("uploads: %+v", ups)
	}
}

func TestUnlinkWhileOpenAndWhileSending(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	path := m.path("Muster GmbH", "Briefe", "a.txt")
	w := get(os.Create(path))(t)
	get(w.WriteString("Inhalt"))(t)
	must(t, os.Remove(path))
	get(w.WriteString(" und mehr"))(t)
	buf := make([]byte, 6)
	get(w.ReadAt(buf, 0))(t)
	if info := get(w.Stat())(t); string(buf) != "Inhalt" || info.Size() != 15 {
		t.Errorf("an unlinked open file has %q, %d bytes", buf, info.Size())
	}
	must(t, w.Close())
	if n := len(f.Documents(f.letters)); n != 0 || len(m.uploads()) != 0 {
		t.Errorf("%d documents, uploads %v", n, m.uploads())
	}
	gate := hostile.NewGate()
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: hostile.StallBefore(gate)})
	closed := make(chan error)
	go func() { closed <- os.WriteFile(path, []byte("Inhalt"), 0o600) }()
	<-gate.Arrived()
	removed := make(chan error)
	go func() { removed <- os.Remove(path) }()
	gate.Open()
	must(t, <-closed)
	if err := <-removed; !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOENT) {
		t.Errorf("remove of what was being archived: %v", err)
	}
	if n := len(f.Documents(f.letters)); n != 1 {
		t.Errorf("%d documents", n)
	}
}

// The answer to an upload was not understood, and the service cannot tell whether the document that it lists is this
// file. A remove would only take away what tells of it, and leave the document.
func TestUnlinkOfWhatTheArchiveMayHave(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{OnlyEight: true, Data: hostile.DataShape{HideExternalID: true}})
	m := f.mount(t, func(o *fs.Options) { o.Async = true })
	path := m.path("Muster GmbH", "Briefe", "a.txt")
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: hostile.AnswerAfter(502, "oops")})
	must(t, os.WriteFile(path, []byte("Inhalt"), 0o600))
	heals(t, "it is in doubt", func() bool { return len(m.uploads()) == 1 && m.uploads()[0].State == "failed" })
	wantErrno(t, "remove", os.Remove(path), syscall.EBUSY)
	if len(m.uploads()) != 1 || len(f.Documents(f.letters)) != 1 {
		t.Errorf("uploads %v, documents %v", m.uploads(), f.Documents(f.letters))
	}
}

// Concurrent renames, listings and attributes of the same files.
func TestRenamesAndListingsAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			name := filepath.Join(dir, fmt.Sprintf("%d.part", w))
			if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
				t.Errorf("create: %v", err)
			}
			for i := range 50 {
				next := filepath.Join(dir, fmt.Sprintf("%d-%d.part", w, i))
				if err := os.Rename(name, next); err != nil {
					t.Errorf("rename: %v", err)
				}
				name = next
			}
			if err := os.Rename(name, filepath.Join(dir, fmt.Sprintf("%d.txt", w))); err != nil {
				t.Errorf("rename: %v", err)
			}
		})
		wg.Go(func() {
			for range 50 {
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Errorf("list: %v", err)
				}
				for _, e := range entries {
					_, _ = e.Info() // it may have another name by now
				}
			}
		})
	}
	wg.Wait()
	wantNames(t, dir, "0.txt", "1.txt", "2.txt", "3.txt")
	if n := len(o.documents(t, o.letters)); n != 4 {
		t.Errorf("%d documents", n)
	}
}
