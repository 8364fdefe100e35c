package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// lost writes a file whose answer is lost at a service that is not asked in time: its close fails in doubt.
func (f *foreign) lost(m *mounted, path string) {
	m.t.Helper()
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: hostile.DropAfter()})
	f.Fault(hostile.Fault{Method: "GET", Path: "/document/list", Times: hostile.Always, Do: hostile.Answer(500, "")})
	if err := os.WriteFile(path, []byte("Inhalt"), 0o600); !errors.Is(err, syscall.EIO) {
		m.t.Fatalf("%v, want EIO", err)
	}
	f.ClearFaults()
	if list := m.uploads(); len(list) != 1 || list[0].State != "failed" {
		m.t.Fatalf("the uploads are %+v", list)
	}
}

// What failed in doubt is looked for by itself, and nobody has to decide anything about what is found.
func TestAnUploadInDoubtIsFoundByItself(t *testing.T) {
	t.Parallel()
	for name, arrives := range map[string]bool{"it arrived": true, "it did not": false} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			m, c := f.slow(t)
			dir := m.path("Muster GmbH", "Briefe")
			wantNames(t, dir)
			f.lost(m, filepath.Join(dir, "a.txt"))
			if !arrives {
				f.Remove(f.Documents(f.letters)[0].ID)
			}
			looks := f.Count("GET", "/document/list")
			c.advance(2 * time.Minute)
			must(t, m.fs.Reconnect(t.Context())) // time has passed: the queue looks what is due
			heals(t, "it was looked for", func() bool {
				return f.Count("GET", "/document/list") > looks && (!arrives || len(m.uploads()) == 0 && m.fs.Status().Cache.Content.Files == 1)
			})
			if n := f.Count("POST", "/file-upload"); n != 1 {
				t.Errorf("it was sent %d times", n)
			}
			if arrives {
				wantNames(t, dir, "a.txt")
				wantContent(t, filepath.Join(dir, "a.txt"), "Inhalt")
				if health := m.fs.Status().Health; health != fs.HealthOK || f.Count("GET", "/document/{id}/pdf") != 0 {
					t.Errorf("health %s, %d downloads", health, f.Count("GET", "/document/{id}/pdf"))
				}
			} else if list := m.uploads(); len(list) != 1 || list[0].State != "failed" {
				t.Errorf("the uploads are %+v", list)
			}
		})
	}
}

// Whoever copies a file again that failed in doubt, or retries it, gets one document under its own name.
func TestAnUploadInDoubtIsRepeated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hidden int // listings that do not show the document yet
		repeat func(m *mounted, path string) error
	}{
		"copied again": {1, func(_ *mounted, path string) error { return os.WriteFile(path, []byte("Inhalt"), 0o600) }},
		"retried":      {0, func(m *mounted, _ string) error { return m.retryNow(m.uploads()[0]) }},
		"listed and retried": {0, func(m *mounted, path string) error {
			wantNames(m.t, filepath.Dir(path), "a.txt")
			return m.retryNow(m.uploads()[0])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{Upload: hostile.UploadShape{VisibleAfter: tt.hidden}})
			m := f.mount(t, nil)
			m.tries(2 * time.Second) // the spool looks more than once
			dir := m.path("Muster GmbH", "Briefe")
			wantNames(t, dir)
			f.lost(m, filepath.Join(dir, "a.txt"))
			must(t, tt.repeat(m, filepath.Join(dir, "a.txt")))
			heals(t, "nothing is left", func() bool { return m.fs.Status().Uploads.Bytes == 0 }) // what is confirmed is listed no more, and not yet gone
			if got := f.holds(f.letters); !slices.Equal(got, []string{"a.txt=Inhalt"}) {
				t.Errorf("the service has %q", got)
			}
			if s := m.fs.Status(); s.Health != fs.HealthOK || len(s.LastErrors) != 1 || s.LastErrors[0].Mended.IsZero() {
				t.Errorf("the status is %+v", s)
			}
			wantNames(t, dir, "a.txt")
			wantContent(t, filepath.Join(dir, "a.txt"), "Inhalt")
		})
	}
}

// Whoever copies a file again that the end of a mount cut off gets one document, whatever its look sees.
func TestAFileThatWasCutOffIsCopiedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		look   func(*hostile.Gate) hostile.Action // the first look of the next mount; nil: as usual
		hidden int                                // it had arrived, and so many listings do not show it yet
		away   bool                               // the first copy fails, because nobody can look
		during bool                               // the look sees it between the open and the close
	}{
		"before it is looked for": {},
		"before the look sees it": {look: hostile.StallBefore},
		"after the look saw it":   {look: hostile.StallAfter},
		"and nobody can look":     {away: true},
		"and it had arrived":      {hidden: 2},
		"while it is looked for":  {hidden: 1, look: hostile.StallBefore, during: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{Upload: hostile.UploadShape{VisibleAfter: tt.hidden}})
			m := f.mount(t, nil)
			m.tries(2 * time.Second) // the spool looks more than once
			path := m.path("Muster GmbH", "Briefe", "a.txt")
			sent, looks, written := hostile.NewGate(), hostile.NewGate(), make(chan error, 1)
			write := func() { written <- put(path, "Inhalt") }
			f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: hostile.StallBefore(sent)})
			go write()
			<-sent.Arrived()
			crashed := m.spoolNow()
			sent.Open()
			must(t, <-written)
			if tt.hidden == 0 {
				f.Remove(f.Documents(f.letters)[0].ID)
			}
			if tt.look != nil {
				f.Fault(hostile.Fault{Method: "GET", Path: "/document/list", Times: 1, Do: tt.look(looks)})
			}
			m.remountAfter(crashed)
			if tt.look != nil {
				<-looks.Arrived()
			}
			if tt.away {
				wantNames(t, filepath.Dir(path))
				f.Fault(hostile.Fault{Method: "GET", Path: "/document/list", Times: hostile.Always, Do: hostile.Answer(500, "")})
				wantErrno(t, "close", put(path, "Inhalt"), syscall.EIO)
				f.ClearFaults()
			}
			if tt.during {
				w := get(os.Create(path))(t)
				get(w.WriteString("Inhalt"))(t)
				looks.Open()
				heals(t, "it is found", func() bool { return len(m.fs.Status().Uploads.List) == 0 })
				must(t, w.Close())
			} else {
				go write()
				looks.Open()
				if err := <-written; err != nil {
					t.Error(err)
				}
			}
			heals(t, "nothing is left", func() bool { return m.fs.Status().Uploads.Bytes == 0 })
			if got := f.holds(f.letters); !slices.Equal(got, []string{"a.txt=Inhalt"}) {
				t.Errorf("the service has %q", got)
			}
			wantContent(t, path, "Inhalt")
		})
	}
}

// A file that was refused and is copied again is one upload: to retry all sends it once.
func TestARefusedFileThatIsCopiedAgainIsOneUpload(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: hostile.Always, Do: hostile.Answer(413, "too large for the proxy")})
	dir := m.path("Muster GmbH", "Briefe")
	for range 3 {
		wantErrno(t, "close", os.WriteFile(filepath.Join(dir, "a.txt"), []byte("Inhalt"), 0o600), syscall.EFBIG)
	}
	wantErrno(t, "close", os.WriteFile(filepath.Join(dir, "a.txt"), []byte("other"), 0o600), syscall.EFBIG)
	list := m.uploads()
	if len(list) != 2 {
		t.Fatalf("the uploads are %+v", list)
	}
	must(t, xattr.Set(m.kept(list[0]), "user.archive.keywords", []byte("paid")))
	wantErrno(t, "close", os.WriteFile(filepath.Join(dir, "a.txt"), []byte("Inhalt"), 0o600), syscall.EFBIG)
	wantErrno(t, "close", os.WriteFile(filepath.Join(dir, "a.txt"), []byte("other"), 0o600), syscall.EFBIG)
	if n := len(m.uploads()); n != 3 {
		t.Errorf("%d uploads; the one with keywords is another", n)
	}
	must(t, os.Remove(m.kept(list[0])))
	list = m.uploads()
	f.ClearFaults()
	for _, u := range list {
		must(t, m.retryNow(u))
	}
	heals(t, "nothing is left", func() bool { return m.fs.Status().Uploads.Bytes == 0 })
	if s := m.fs.Status(); s.Health != fs.HealthOK {
		t.Errorf("the status is %+v", s)
	}
	if got := f.holds(f.letters); !slices.Equal(got, []string{"a.txt=Inhalt", "a.txt=other"}) {
		t.Errorf("the service has %q", got)
	}
}
