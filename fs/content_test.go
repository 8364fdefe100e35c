package fs_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

const onePDF = "%PDF-1.4\none\n%%EOF\n"

// The bytes and the added extension of a document, by mode and by what the service has.
func TestBytesByContentMode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  hostile.Config
		mode fs.ContentMode
		ext  string
		want string // what the bytes begin with; empty: they cannot be read
	}{
		{"auto", hostile.Config{}, fs.ContentAuto, ".pdf", "original"},
		{"auto with types", hostile.Config{List: hostile.ListShape{Sizes: true}}, fs.ContentAuto, ".txt", "original"},
		{"auto without originals", hostile.Config{Content: hostile.ContentShape{OriginalStatus: 501}}, fs.ContentAuto, ".pdf", "%PDF"},
		{"auto on eight operations", hostile.Config{OnlyEight: true}, fs.ContentAuto, ".json", "{"},
		{"original", hostile.Config{}, fs.ContentOriginal, ".pdf", "original"},
		{"original without originals", hostile.Config{Content: hostile.ContentShape{OriginalStatus: 501}}, fs.ContentOriginal, ".pdf", ""},
		{"pdf", hostile.Config{}, fs.ContentPDF, ".pdf", "%PDF"},
		{"data", hostile.Config{}, fs.ContentData, ".json", "{"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForeign(t, tt.cfg)
			f.AddDocument(f.bills, hostile.Document{Name: "Brief", Content: []byte("original"), PDF: []byte(onePDF), ContentType: "text/plain"})
			m := f.mount(t, func(o *fs.Options) { o.Mode = tt.mode })
			path := m.path("Muster GmbH", "Rechnungen", "Brief"+tt.ext)
			wantNames(t, filepath.Dir(path), filepath.Base(path))
			got, err := os.ReadFile(path)
			switch {
			case tt.want == "" && err == nil:
				t.Errorf("read %.40q", got)
			case tt.want != "" && (err != nil || !strings.HasPrefix(string(got), tt.want)):
				t.Errorf("read %.40q, %v, want %q", got, err, tt.want)
			case err == nil && get(os.Stat(path))(t).Size() != int64(len(got)):
				t.Errorf("size %d of %d bytes", get(os.Stat(path))(t).Size(), len(got))
			}
		})
	}
}

// The service replaces a document under a reader: open handles keep the old bytes, new ones get all
// of the new bytes.
func TestReplacedAtTheServiceWhileOpen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) string{
		"longer":  func(s string) string { return strings.Repeat("B", len(s)+10_000) },
		"shorter": func(s string) string { return strings.Repeat("B", len(s)-10_000) },
		"equal":   func(s string) string { return strings.Repeat("B", len(s)) },
	} {
		for _, sizes := range []bool{true, false} {
			t.Run(name+" sizes "+strconv.FormatBool(sizes), func(t *testing.T) {
				f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: sizes}})
				before := strings.Repeat("A", 300_000)
				after := change(before)
				id := f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte(before)})
				m, c := f.slow(t)
				path := m.path("inboxes", "Administrator", "a.txt")
				old := get(os.Open(path))(t)
				defer func() { must(t, old.Close()) }()
				head := make([]byte, 10_000)
				get(io.ReadFull(old, head))(t)
				heals(t, "the download ends", func() bool { return m.fs.Status().Cache.Content.Files == 1 })
				f.Change(id, func(d *hostile.Document) { d.Content = []byte(after) })
				c.advance(2 * longTTL)
				names(t, filepath.Dir(path)) // the listing comes first
				wantContent(t, path, after)
				rest, err := io.ReadAll(old)
				if got := string(head) + string(rest); err == nil && got != before {
					t.Errorf("the old reader got %d bytes: %d A and %d B", len(got), strings.Count(got, "A"), strings.Count(got, "B"))
				}
				wantContent(t, path, after)
				if got := get(os.Stat(path))(t).Size(); got != int64(len(after)) {
					t.Errorf("size %d, want %d", got, len(after))
				}
			})
		}
	}
}

// Many readers of one document take one download, and each gets all of it.
func TestManyReadersOfOneDownload(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	f.AddDocument(f.bills, hostile.Document{Name: "a.bin", Content: content})
	m, _ := f.slow(t)
	path := m.path("Muster GmbH", "Rechnungen", "a.bin")
	gate := hostile.NewGate()
	f.Fault(hostile.Fault{Method: "GET", Path: "/document/{id}/pdf", Do: hostile.StallBody(400_000, gate)})
	first := get(os.Open(path))(t)
	defer func() { must(t, first.Close()) }()
	head := make([]byte, 100_000)
	get(io.ReadFull(first, head))(t) // reading starts before the download ends
	if !bytes.Equal(head, content[:len(head)]) {
		t.Error("the beginning is wrong")
	}
	var readers sync.WaitGroup
	for range 10 {
		readers.Go(func() {
			got, err := exec.CommandContext(t.Context(), "cat", path).Output()
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("cat: %d bytes, %v", len(got), err)
			}
		})
	}
	gate.Open()
	readers.Wait()
	if n := f.Count("GET", "/document/{id}/pdf"); n != 1 {
		t.Errorf("%d downloads", n)
	}
}

// A body that ends too early is resumed, or is an error: never a shorter file.
func TestTruncatedBodies(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<15)
	for name, cfg := range map[string]hostile.Config{
		"strong tag": {},
		"no range":   {Content: hostile.ContentShape{Range: hostile.RangeIgnored, ETag: hostile.ETagNone}},
		"chunked":    {Content: hostile.ContentShape{Chunked: true, Range: hostile.RangeRefused}},
		"changing":   {Content: hostile.ContentShape{ETag: hostile.ETagChanging}},
		"shifted":    {Content: hostile.ContentShape{Range: hostile.RangeShifted}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, cfg)
			f.AddDocument(f.bills, hostile.Document{Name: "a.bin", Content: content})
			m, _ := f.slow(t)
			f.Fault(hostile.Fault{Method: "GET", Path: "/document/{id}/pdf", Do: hostile.Truncate(100_000)})
			path := m.path("Muster GmbH", "Rechnungen", "a.bin")
			got, err := exec.CommandContext(t.Context(), "cat", path).Output()
			if err == nil && !bytes.Equal(got, content) {
				t.Errorf("cat succeeded with %d bytes of %d", len(got), len(content))
			}
			if !bytes.HasPrefix(content, got) {
				t.Error("cat got other bytes")
			}
			wantContent(t, path, string(content)) // once more, undisturbed
		})
	}
}

// A reader of a stalled service can be interrupted.
func TestStalledReaderIsInterrupted(t *testing.T) {
	for name, stall := range map[string]func(*hostile.Gate) hostile.Action{
		"before the answer": hostile.StallBefore,
		"in the body":       func(g *hostile.Gate) hostile.Action { return hostile.StallBody(1000, g) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			f.AddDocument(f.bills, hostile.Document{Name: "a.bin", Content: make([]byte, 1<<20)})
			m, _ := f.slow(t)
			gate := hostile.NewGate()
			f.Fault(hostile.Fault{Method: "GET", Path: "/document/{id}/pdf", Do: stall(gate)})
			cat := exec.CommandContext(t.Context(), "cat", m.path("Muster GmbH", "Rechnungen", "a.bin"))
			must(t, cat.Start())
			<-gate.Arrived()
			must(t, cat.Process.Signal(os.Interrupt))
			if err := cat.Wait(); err == nil {
				t.Error("cat succeeded")
			}
			gate.Open()
			wantContent(t, m.path("Muster GmbH", "Rechnungen", "a.bin"), string(make([]byte, 1<<20)))
		})
	}
}

// Errors of reading, by the answer of the service.
func TestErrnosOfReading(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		want   syscall.Errno
	}{
		{400, syscall.EINVAL},
		{401, syscall.EACCES},
		{403, syscall.EACCES},
		{404, syscall.ENOENT},
		{418, syscall.EIO},
		{500, syscall.EIO},
		{502, syscall.EIO},
	} {
		f := newForeign(t, hostile.Config{})
		f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
		m, _ := f.slow(t)
		path := m.path("Muster GmbH", "Rechnungen", "a.txt")
		names(t, filepath.Dir(path))
		for _, op := range []string{"pdf", "data"} {
			f.Fault(hostile.Fault{Method: "GET", Path: "/document/{id}/" + op, Times: hostile.Always, Do: hostile.Answer(tt.status, "")})
		}
		_, err := os.ReadFile(path)
		wantErrno(t, "read answered "+strconv.Itoa(tt.status), err, tt.want)
	}
}

// A document without content is an error of that document alone: neither it nor any other shows
// another representation instead.
func TestDocumentWithoutContent(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		f.AddDocument(f.bills, hostile.Document{Name: name, Content: []byte(name)})
	}
	m, _ := f.slow(t)
	bills := m.path("Muster GmbH", "Rechnungen")
	wantContent(t, filepath.Join(bills, "a.txt"), "a.txt")
	f.Fault(hostile.Fault{Method: "GET", Path: "/document/{id}/pdf", Do: hostile.Answer(404, "")})
	_, err := os.ReadFile(filepath.Join(bills, "b.txt"))
	wantErrno(t, "read without content", err, syscall.ENOENT)
	wantContent(t, filepath.Join(bills, "c.txt"), "c.txt")
	wantContent(t, filepath.Join(bills, "b.txt"), "b.txt")
}
