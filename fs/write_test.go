package fs_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// sh runs a shell script with the mount point as $1 and fails the test if it fails. A script that
// deadlocks is killed with all its processes.
func sh(t testing.TB, m *mounted, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-euc", script, "bash", m.dir)
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	bash.Cancel = func() error { return syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }
	out, err := bash.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// wantArchived fails the test unless the folder holds exactly the documents, as name=content.
func wantArchived(t testing.TB, o *office, folder archive.ID, want ...string) {
	t.Helper()
	c := o.client(t)
	defer c.Close()
	var got []string
	for _, d := range o.documents(t, folder) {
		body := get(c.Content(t.Context(), archive.ContentRequest{Document: d.ID, Representation: archive.Original}))(t)
		b := get(io.ReadAll(body.Body))(t)
		must(t, body.Body.Close())
		got = append(got, d.Name+"="+string(b))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the archive holds %.200q, want %.200q", got, want)
	}
}

// mknod(2) of a regular file is a create that leaves nothing open.
func TestMknod(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	path := m.path("Muster GmbH", "Briefe", "a.txt")
	must(t, syscall.Mknod(path, syscall.S_IFREG|0o600, 0))
	wantErrno(t, "again", syscall.Mknod(path, syscall.S_IFREG|0o600, 0), syscall.EEXIST)
	wantErrno(t, "pipe", syscall.Mknod(path+".pipe", syscall.S_IFIFO|0o600, 0), syscall.EPERM)
	wantErrno(t, "in the root", syscall.Mknod(m.path("a.txt"), syscall.S_IFREG|0o600, 0), syscall.EPERM)
	m.remount()
	wantContent(t, path, "")
	wantArchived(t, o, o.letters)
	must(t, os.WriteFile(path, []byte("Inhalt"), 0o600))
	wantArchived(t, o, o.letters, "a.txt=Inhalt")
}

func TestWriteArchivesAtClose(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	path := m.path("Muster GmbH", "Rechnungen", "neu.txt")
	must(t, os.WriteFile(path, []byte("Inhalt"), 0o600))
	wantArchived(t, o, o.bills, "neu.txt=Inhalt")
	o.forget()
	wantContent(t, path, "Inhalt")
	if got := o.asked("", "/pdf"); len(got) != 0 {
		t.Error("what was just written was downloaded to be read back")
	}
	if len(m.uploads()) != 0 {
		t.Errorf("uploads remain: %v", m.uploads())
	}
	wantErrno(t, "overwrite", os.WriteFile(path, []byte("x"), 0o600), syscall.EPERM)
	wantErrno(t, "remove", os.Remove(path), syscall.EPERM)
	wantErrno(t, "truncate", os.Truncate(path, 0), syscall.EPERM)
	must(t, os.Chmod(path, 0o644))
}

func TestSizesInAndOut(t *testing.T) {
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	for _, size := range []int{1, 4096, 4097, 5 << 20} {
		content := make([]byte, size)
		r := rand.New(rand.NewPCG(uint64(size), 1))
		for i := range content {
			content[i] = byte(r.Uint32())
		}
		src := filepath.Join(t.TempDir(), "in.bin")
		must(t, os.WriteFile(src, content, 0o600))
		dst := m.path("Muster GmbH", "Briefe", "out"+string(rune('a'+size%26))+".bin")
		if out, err := exec.CommandContext(t.Context(), "cp", src, dst).CombinedOutput(); err != nil {
			t.Fatalf("cp %d bytes: %v: %s", size, err, out)
		}
		if out, err := exec.CommandContext(t.Context(), "cmp", src, dst).CombinedOutput(); err != nil {
			t.Errorf("cmp %d bytes: %v: %s", size, err, out)
		}
		m.remount()
		if got := get(os.ReadFile(dst))(t); !bytes.Equal(got, content) {
			t.Errorf("%d bytes are others after a fresh mount", size)
		}
	}
}

func TestRandomWritesAndTruncate(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	path := m.path("Muster GmbH", "Briefe", "model.bin")
	f := get(os.Create(path))(t)
	var model []byte
	r := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		off, n := r.IntN(100_000), r.IntN(5000)
		switch r.IntN(5) {
		case 0:
			must(t, f.Truncate(int64(off)))
			if off > len(model) {
				model = append(model, make([]byte, off-len(model))...)
			}
			model = model[:off]
		default:
			p := bytes.Repeat([]byte{byte(n)}, n)
			get(f.WriteAt(p, int64(off)))(t)
			if off+n > len(model) {
				model = append(model, make([]byte, off+n-len(model))...)
			}
			copy(model[off:], p)
		}
	}
	must(t, f.Sync())
	g := get(os.Open(path))(t) // while it is still being written
	if got := get(io.ReadAll(g))(t); !bytes.Equal(got, model) {
		t.Error("a second reader sees other bytes")
	}
	must(t, g.Close())
	must(t, f.Close())
	wantArchived(t, o, o.letters, "model.bin="+string(model))
}

// Every way in which programs close a file they write: the archive gets it once, whole.
func TestWaysOfClosing(t *testing.T) {
	for name, script := range map[string]string{
		"cp":               `printf content > /tmp/$$; cp /tmp/$$ "$f"; rm /tmp/$$`,
		"echo":             `echo -n content > "$f"`,
		"cat":              `printf content | cat > "$f"`,
		"two writers":      `(printf con; printf tent) > "$f"`,
		"sub-processes":    `(/bin/echo -n con; /bin/echo -n tent) > "$f"`,
		"exec 3":           `exec 3> "$f"; printf con >&3; /bin/echo -n tent >&3; exec 3>&-`,
		"child goes on":    `{ printf con; (sleep 0.2; printf tent) & } > "$f"`,
		"grandchild":       `((sleep 0.2; printf content) & printf '') > "$f"`,
		"child of exec 3":  `exec 3> "$f"; printf con >&3; (sleep 0.2; printf tent >&3) & exec 3>&-`,
		"both streams":     `{ printf con; printf tent >&2; } > "$f" 2>&1`,
		"dd":               `printf content | dd of="$f" bs=1 status=none`,
		"dd with fsync":    `printf content | dd of="$f" conv=fsync status=none`,
		"tee":              `printf content | tee "$f" > /dev/null`,
		"append":           `exec 3> "$f"; printf con >&3; exec 4>> "$f"; printf tent >&4; exec 3>&- 4>&-`,
		"python":           `python3 -c 'import sys; w=open(sys.argv[1],"w"); w.write("content"); w.close()' "$f"`,
		"python, no close": `python3 -c 'import sys,os; fd=os.open(sys.argv[1],os.O_CREAT|os.O_WRONLY); os.write(fd,b"content")' "$f"`,
		"exec":             `python3 -c 'import sys,os; fd=os.open(sys.argv[1],os.O_CREAT|os.O_WRONLY); os.write(fd,b"content"); os.execvp("true",["true"])' "$f"`,
		"spawn":            `python3 -c 'import sys,os,subprocess as s; w=open(sys.argv[1],"wb",0); w.write(b"con"); s.run(["true"],close_fds=False); w.write(b"tent"); w.close()' "$f"`,
		"touch and write":  `touch "$f"; printf content > "$f"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			m := o.mount(t, nil)
			sh(t, m, `f="$1/Muster GmbH/Briefe/doc.txt"; `+script)
			m.unmount()
			wantArchived(t, o, o.letters, "doc.txt=content")
			if n := len(o.asked("POST", "/file-upload")); n != 1 {
				t.Errorf("%d uploads", n)
			}
		})
	}
}

func TestEmptyAndTemporaryFilesStayLocal(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	must(t, os.WriteFile(filepath.Join(dir, "leer.txt"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, ".~lock.a.odt#"), []byte("erika"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "Thumbs.db"), []byte("x"), 0o600))
	must(t, os.MkdirAll(filepath.Join(dir, ".Trash-0", "files"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, ".Trash-0", "files", "a.pdf"), []byte("x"), 0o600))
	wantArchived(t, o, o.letters)
	want := []string{"leer.txt", ".~lock.a.odt#", "Thumbs.db", ".Trash-0"}
	wantNames(t, dir, want...)
	m.remount()
	wantNames(t, dir, want...)
	wantContent(t, filepath.Join(dir, ".~lock.a.odt#"), "erika")
	wantContent(t, filepath.Join(dir, ".Trash-0", "files", "a.pdf"), "x")
	for _, n := range []string{"leer.txt", ".~lock.a.odt#", "Thumbs.db", ".Trash-0/files/a.pdf", ".Trash-0/files", ".Trash-0"} {
		must(t, os.Remove(filepath.Join(dir, n)))
	}
	wantNames(t, dir)
	wantErrno(t, "create at the top", os.WriteFile(m.path("a.txt"), nil, 0o600), syscall.EPERM)
	wantErrno(t, "trash at the top", os.Mkdir(m.path(".Trash-0"), 0o700), syscall.EPERM)
	wantErrno(t, "create among inboxes", os.WriteFile(m.path("inboxes", "a.txt"), nil, 0o600), syscall.EPERM)
	wantErrno(t, "mkdir among inboxes", os.Mkdir(m.path("inboxes", "a"), 0o700), syscall.EPERM)
	if n := len(o.asked("POST", "")); n != 0 {
		t.Errorf("%d requests changed something", n)
	}
}

func TestRefusedUploadLeavesTheFolder(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Nth: 1, Times: 1, Do: hostile.Answer(413, `{"message":"too \u001b[31mlarge"}`)})
	path := m.path("Muster GmbH", "Briefe", "gross.txt")
	wantErrno(t, "close", os.WriteFile(path, []byte("Inhalt"), 0o600), syscall.EFBIG)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the refused file is still shown: %v", err)
	}
	ups := m.uploads()
	if len(ups) != 1 || ups[0].State != "failed" || !strings.Contains(ups[0].Error, "large") || strings.Contains(ups[0].Error, "\x1b") {
		t.Fatalf("uploads: %+v", ups)
	}
	kept := m.path(".archivefs", "uploads", ups[0].ID+" gross.txt")
	wantContent(t, kept, "Inhalt")
	wantErrno(t, "write to a kept file", os.WriteFile(kept, []byte("x"), 0o600), syscall.EPERM)
	must(t, os.WriteFile(path, []byte("Inhalt"), 0o600)) // a retry under the same name
	if docs := f.Documents(f.letters); len(docs) != 1 || string(docs[0].Content) != "Inhalt" {
		t.Errorf("after the retry the archive holds %v", docs)
	}
}

func TestErrnosOfRefusedUploads(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]syscall.Errno{
		400: syscall.EINVAL, 401: syscall.EACCES, 403: syscall.EACCES, 404: syscall.ENOENT, 409: syscall.EEXIST,
		413: syscall.EFBIG, 429: syscall.EAGAIN, 500: syscall.EIO, 503: syscall.EAGAIN, 507: syscall.EIO,
	} {
		f := newForeign(t, hostile.Config{})
		m := f.mount(t, nil)
		f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: hostile.Always, Do: hostile.Answer(status, "")})
		err := os.WriteFile(m.path("Muster GmbH", "Briefe", "a.txt"), []byte("Inhalt"), 0o600)
		wantErrno(t, "status "+string(rune('0'+status/100)), err, want)
		if ups := m.uploads(); len(ups) != 1 || ups[0].State != "failed" {
			t.Errorf("status %d: uploads %+v", status, ups)
		}
	}
}

// If the service refuses the credentials of one upload, it refuses them for all. The status says so
// at once, with the remedy, until an upload or a listing succeeds.
func TestRefusedCredentialsOfAnUpload(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, func(o *fs.Options) { o.Cure = "renew them" })
	names(t, m.path("Muster GmbH", "Briefe"))
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: hostile.Answer(401, "who are you")})
	wantErrno(t, "close", os.WriteFile(m.path("Muster GmbH", "Briefe", "a.txt"), []byte("Inhalt"), 0o600), syscall.EACCES)
	s := m.fs.Status()
	if s.Health != fs.HealthAway || s.Cure != "renew them" || !m.fs.Away().Refused() || len(s.Uploads.List) != 1 || s.Uploads.List[0].State != "failed" {
		t.Errorf("the status is %+v", s)
	}
	if len(s.LastErrors) != 1 || !strings.HasPrefix(s.LastErrors[0].Text, "archive Muster GmbH/Briefe/a.txt: ") {
		t.Errorf("the last errors are %+v", s.LastErrors)
	}
	must(t, os.WriteFile(m.path("Muster GmbH", "Briefe", "b.txt"), []byte("Inhalt"), 0o600))
	if s := m.fs.Status(); s.Health != fs.HealthFailing || s.Cure != "" || m.fs.Away().Refused() {
		t.Errorf("after an upload that succeeded the status is %+v", s)
	}
	if s := m.fs.Status(); len(s.LastErrors) != 1 || !s.LastErrors[0].Mended.IsZero() {
		t.Errorf("another file was archived, and the last errors are %+v", s.LastErrors)
	}
	must(t, os.WriteFile(m.path("Muster GmbH", "Briefe", "a.txt"), []byte("another"), 0o600))
	if s := m.fs.Status(); len(s.Uploads.List) != 1 || !s.LastErrors[0].Mended.IsZero() {
		t.Errorf("another file of the same name was archived, the uploads are %+v and the last errors %+v", s.Uploads.List, s.LastErrors)
	}
	must(t, m.retryNow(m.uploads()[0]))
	heals(t, "the upload has succeeded after all", func() bool { return !m.fs.Status().LastErrors[0].Mended.IsZero() })
}

// After an end in doubt the spool looks before it repeats: never two documents, never none.
func TestUploadWithLostAnswerIsArchivedOnce(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]hostile.Action{
		"lost after":      hostile.DropAfter(),
		"lost before":     hostile.DropBefore(),
		"500 after":       hostile.AnswerAfter(500, ""),
		"503 before":      hostile.Answer(503, ""),
		"lost in between": hostile.DropDuring(10),
	} {
		t.Run(name, func(t *testing.T) {
			for _, tries := range []time.Duration{4 * time.Second, time.Minute} { // a busy machine may use up the first
				f := newForeign(t, hostile.Config{})
				m := f.mount(t, nil)
				m.tries(tries) // the spool looks for half of this time
				f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Nth: 1, Times: 1, Do: do})
				path := m.path("Muster GmbH", "Briefe", "a.txt")
				err := os.WriteFile(path, []byte("Inhalt"), 0o600)
				docs := f.Documents(f.letters)
				if err != nil && tries < time.Minute && len(docs) < 2 {
					continue
				}
				must(t, err)
				if len(docs) != 1 || string(docs[0].Content) != "Inhalt" {
					t.Errorf("the archive holds %d documents", len(docs))
				}
				wantContent(t, path, "Inhalt")
				return
			}
		})
	}
}

func TestKilledWriterArchivesNothing(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			o := newOffice(t, nil)
			m := o.mount(t, nil)
			fifo := filepath.Join(t.TempDir(), "source")
			must(t, syscall.Mkfifo(fifo, 0o600))
			path := m.path("Muster GmbH", "Briefe", "halb.txt")
			cp := exec.CommandContext(t.Context(), "cp", "--copy-contents", fifo, path)
			must(t, cp.Start())
			w := get(os.OpenFile(fifo, os.O_WRONLY, 0))(t)
			get(w.WriteString("die erste"))(t)
			for info, err := os.Stat(path); err != nil || info.Size() < 9; info, err = os.Stat(path) {
				must(t, t.Context().Err())
			}
			must(t, cp.Process.Signal(sig))
			if err := cp.Wait(); err == nil {
				t.Error("cp was not killed")
			}
			must(t, w.Close())
			wantNames(t, m.path("Muster GmbH", "Briefe"))
			m.remount()
			wantArchived(t, o, o.letters)
			if ups := m.uploads(); len(ups) != 1 || ups[0].State != "failed" || ups[0].Size != 9 {
				t.Errorf("uploads: %+v", ups)
			}
		})
	}
}

func TestIncompleteFilesAreRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	path := m.path("Muster GmbH", "Briefe", "halb.pdf")
	wantErrno(t, "close", os.WriteFile(path, []byte("%PDF-1.7\nhalf of it"), 0o600), syscall.EIO)
	wantArchived(t, o, o.letters)
	if ups := m.uploads(); len(ups) != 1 || ups[0].State != "failed" {
		t.Errorf("uploads: %+v", ups)
	}
}

func TestOverwriteInboxDocument(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.inbox, "scan.txt", "alt")
	m := o.mount(t, nil)
	path := m.path("inboxes", "Administrator", "scan.txt")
	must(t, os.WriteFile(path, []byte("neu und länger"), 0o600))
	wantArchived(t, o, o.inbox, "scan.txt=neu und länger")
	wantContent(t, path, "neu und länger")
	f := get(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))(t)
	get(f.WriteString("!"))(t)
	must(t, f.Close())
	wantArchived(t, o, o.inbox, "scan.txt=neu und länger!")
	if n := len(o.asked("POST", "/file-upload")); n != 0 {
		t.Errorf("%d uploads beside the replacements", n)
	}
	must(t, os.WriteFile(m.path("inboxes", "Administrator", "neu.txt"), []byte("x"), 0o600))
	wantArchived(t, o, o.inbox, "scan.txt=neu und länger!", "neu.txt=x")
}

func TestReadWriteOpenWithoutWritingChangesNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.inbox, "scan.txt", "alt")
	m := o.mount(t, nil)
	f := get(os.OpenFile(m.path("inboxes", "Administrator", "scan.txt"), os.O_RDWR, 0))(t)
	if got := string(get(io.ReadAll(f))(t)); got != "alt" {
		t.Errorf("read %q", got)
	}
	must(t, f.Close())
	if n := len(o.asked("POST", "")); n != 0 || len(m.uploads()) != 0 {
		t.Errorf("%d requests changed something; uploads %v", n, m.uploads())
	}
}

func TestSpoolBudgetIsENOSPC(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, func(opts *fs.Options) { opts.Spool = smallSpool(t, opts) })
	path := m.path("Muster GmbH", "Briefe", "gross.bin")
	err := os.WriteFile(path, make([]byte, 3<<20), 0o600)
	wantErrno(t, "write", err, syscall.ENOSPC)
	wantArchived(t, o, o.letters)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("half a file is shown: %v", err)
	}
}
