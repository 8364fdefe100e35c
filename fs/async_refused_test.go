package fs_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// decisions are what a person can do about a refused file in Briefe; after that the service accepts
// everything.
var decisions = map[string]struct {
	do   func(t *testing.T, a *async, path string)
	want []string // in the archive
}{
	"none":    {func(*testing.T, *async, string) {}, nil},
	"retried": {func(t *testing.T, a *async, _ string) { must(t, a.retryNow(a.uploads()[0])) }, []string{"a.txt=Inhalt"}},
	"retried by its name": {func(t *testing.T, _ *async, path string) {
		must(t, setAttr(path, "retry", "true"))
	}, []string{"a.txt=Inhalt"}},
	"discarded":   {func(t *testing.T, a *async, _ string) { must(t, os.Remove(a.kept(a.uploads()[0]))) }, nil},
	"removed":     {func(t *testing.T, _ *async, path string) { must(t, os.Remove(path)) }, nil},
	"overwritten": {func(t *testing.T, _ *async, path string) { write(t, path, "new") }, []string{"a.txt=new"}},
	"overwritten with the same": {func(t *testing.T, _ *async, path string) {
		write(t, path, "Inhalt")
	}, []string{"a.txt=Inhalt"}},
	"appended to": {func(t *testing.T, a *async, path string) {
		opens(os.O_WRONLY|os.O_APPEND, "!")(t, a, path)
	}, []string{"a.txt=Inhalt!"}},
	"renamed and retried": {func(t *testing.T, a *async, path string) {
		must(t, os.Rename(path, filepath.Join(a.letters, "b.txt")))
		must(t, a.retryNow(a.uploads()[0]))
	}, []string{"b.txt=Inhalt"}},
	"replaced by a rename": {func(t *testing.T, _ *async, path string) {
		write(t, path+".part", "new")
		must(t, os.Rename(path+".part", path))
	}, []string{"a.txt=new"}},
}

// A file that is refused after a successful close stays in its folder as failed, with its bytes and
// the reason, across mounts, until a person decides about it.
func TestAsyncRefusedLater(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 403, 404, 409, 413} {
		for name, decision := range decisions {
			t.Run(strconv.Itoa(status)+"/"+name, func(t *testing.T) {
				t.Parallel()
				a := newAsync(t, hostile.Config{})
				a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: hostile.Always, Do: hostile.Answer(status, `{"message":"not today"}`)})
				path := filepath.Join(a.letters, "a.txt")
				write(t, path, "Inhalt")
				heals(t, "it fails", func() bool { ups := a.uploads(); return len(ups) == 1 && ups[0].State == "failed" })
				a.wantRefused(t, path)
				if status == 403 {
					a.remount()
					a.wantRefused(t, path)
				}
				a.ClearFaults()
				decision.do(t, a, path)
				heals(t, "it is archived", func() bool { return len(a.pending()) == 0 })
				a.wantHolds(t, a.foreign.letters, decision.want...)
				if ups := a.uploads(); (len(ups) == 1) != (name == "none") {
					t.Errorf("uploads: %+v", ups)
				}
			})
		}
	}
}

func (a *async) wantRefused(t *testing.T, path string) {
	t.Helper()
	wantNames(t, filepath.Dir(path), filepath.Base(path))
	wantContent(t, path, "Inhalt")
	wantContent(t, a.kept(a.uploads()[0]), "Inhalt")
	if state, reason := attr(t, path, "state"), attr(t, path, "error"); state != "failed" || reason == "" {
		t.Errorf("state %q, error %q", state, reason)
	}
	if h := a.fs.Status().Health; h != "failing" {
		t.Errorf("health is %q", h)
	}
}

// If a service cannot accept a file now, the upload is retried. Until then the file is pending,
// with the reason.
func TestAsyncWaitsForTheService(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]hostile.Action{
		"401":                  hostile.Answer(401, "who are you"),
		"429 until tomorrow":   hostile.Answer(429, "slow down", "Retry-After", "86400"),
		"429":                  hostile.Answer(429, "slow down"),
		"500":                  hostile.Answer(500, "oh"),
		"502":                  hostile.Answer(502, "<html>Bad Gateway</html>"),
		"503 with Retry-After": hostile.Answer(503, "", "Retry-After", "1"),
		"507 of a full disk":   hostile.Answer(507, "no room left", "Retry-After", "60"),
		"503 until tomorrow":   hostile.Answer(503, "", "Retry-After", "86400"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAsync(t, hostile.Config{})
			a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: hostile.Always, Do: answer})
			path := filepath.Join(a.letters, "a.txt")
			write(t, path, "Inhalt")
			heals(t, "it was tried", func() bool { ups := a.uploads(); return len(ups) == 1 && ups[0].Waits })
			if state, reason := attr(t, path, "state"), attr(t, path, "error"); state != "pending" || reason == "" {
				t.Errorf("state %q, error %q", state, reason)
			}
			refused := a.Count("POST", "/file-upload")
			a.ClearFaults()
			if strings.HasSuffix(name, "until tomorrow") || strings.HasSuffix(name, "full disk") { // unless a person retries it
				a.sends()
			}
			heals(t, "it is archived", func() bool { return len(a.uploads()) == 0 })
			a.wantHolds(t, a.foreign.letters, "a.txt=Inhalt")
			if n := a.Count("POST", "/file-upload"); n <= refused {
				t.Errorf("%d attempts, %d of them refused", n, refused)
			}
			wantErrno(t, "overwrite", os.WriteFile(path, []byte("new"), 0o600), syscall.EPERM)
		})
	}
}

// Every end in doubt, on every service: an accepted file is archived once, or stays as failed if
// the service does not reveal enough. A login page is no answer of the service, so it is waited out.
func TestAsyncUploadsTakeEffectOnce(t *testing.T) {
	t.Parallel()
	silent := map[string]bool{"no external ids": true, "neither": true, "answers without id": true}
	refuses := map[string]bool{"refused": true}
	for failName, fail := range failures {
		for svcName, cfg := range services {
			t.Run(failName+"/"+svcName, func(t *testing.T) {
				t.Parallel()
				a := newAsync(t, cfg, func(f *foreign) {
					f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
				})
				for _, path := range []string{"/file-upload", "/document/{id}/replace"} {
					a.Fault(hostile.Fault{Method: "POST", Path: path, Times: fail.times, Do: fail.do()})
				}
				write(t, filepath.Join(a.letters, "a.txt"), "Inhalt")
				err := os.WriteFile(filepath.Join(a.inbox, "scan.txt"), []byte("neu"), 0o600)
				if err != nil && svcName != "nothing but eight" {
					t.Errorf("replace: %v", err)
				}
				heals(t, "they were tried", func() bool {
					for _, u := range a.pending() {
						if !u.Waits {
							return false
						}
					}
					return true
				})
				a.ClearFaults()
				a.sends()
				n := a.named(a.foreign.letters, "a.txt", "Inhalt")
				for _, u := range a.uploads() {
					if !refuses[failName] && !silent[svcName] && u.Path == "Muster GmbH/Briefe/a.txt" {
						t.Errorf("failed: %+v", u)
					}
				}
				kept := a.has("Muster GmbH/Briefe/a.txt")
				if n > 1 || n == 0 && !kept || refuses[failName] && n != 0 {
					t.Errorf("archived %d times, uploads %+v", n, a.uploads())
				}
				if docs := a.Documents(a.foreign.inbox); len(docs) != 1 {
					t.Errorf("the inbox holds %+v", docs)
				}
			})
		}
	}
}

// has reports whether there is an upload of that path.
func (m *mounted) has(path string) bool {
	for _, u := range m.uploads() {
		if u.Path == path {
			return true
		}
	}
	return false
}
