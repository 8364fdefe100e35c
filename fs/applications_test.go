package fs_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func TestNamesAndSizesThatCannotBe(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	long := strings.Repeat("ä", 127) + "a" // 255 bytes
	must(t, os.WriteFile(filepath.Join(dir, long), []byte("x"), 0o600))
	wantErrno(t, "256 bytes", os.WriteFile(filepath.Join(dir, long+"b"), []byte("x"), 0o600), syscall.ENAMETOOLONG)
	wantErrno(t, "Latin-1", os.WriteFile(filepath.Join(dir, "M\xfcller.txt"), []byte("x"), 0o600), syscall.EILSEQ)
	wantErrno(t, "a folder in Latin-1", os.Mkdir(filepath.Join(dir, "M\xfcller"), 0o700), syscall.EILSEQ)
	must(t, os.WriteFile(filepath.Join(dir, "a.part"), []byte("x"), 0o600))
	wantErrno(t, "rename to Latin-1", os.Rename(filepath.Join(dir, "a.part"), filepath.Join(dir, "M\xfcller.txt")), syscall.EILSEQ)
	wantArchived(t, o, o.letters, long+"=x")
}

func TestOpenFlags(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.bills, "alt.txt", "alt")
	m := o.mount(t, nil)
	path, archived := m.path("Muster GmbH", "Briefe", "a.txt"), m.path("Muster GmbH", "Rechnungen", "alt.txt")
	for what, flags := range map[string]int{
		"write": os.O_WRONLY, "append": os.O_WRONLY | os.O_APPEND, "both": os.O_RDWR, "truncate": os.O_WRONLY | os.O_TRUNC,
		"read and truncate": os.O_RDONLY | os.O_TRUNC, "create": os.O_WRONLY | os.O_CREATE,
	} {
		_, err := os.OpenFile(archived, flags, 0o600)
		wantErrno(t, what, err, syscall.EPERM)
	}
	_, err := os.OpenFile(archived, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	wantErrno(t, "exclusive", err, syscall.EEXIST)
	w := get(os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o400))(t)
	get(w.WriteString("Inhalt"))(t)
	_, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	wantErrno(t, "exclusive", err, syscall.EEXIST)
	must(t, w.Truncate(2))
	must(t, w.Close())
	wantArchived(t, o, o.letters, "a.txt=In")
	wantArchived(t, o, o.bills, "alt.txt=alt")
	if n := len(o.asked("POST", "")); n != 1 {
		t.Errorf("%d requests changed something", n)
	}
}

// truncate(2) has no close after it.
func TestTruncateByPath(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.inbox, "scan.txt", "lang")
	m := o.mount(t, nil)
	path := m.path("inboxes", "Administrator", "scan.txt")
	must(t, os.Truncate(path, 2))
	wantArchived(t, o, o.inbox, "scan.txt=la")
	wantContent(t, path, "la")
}

func TestBigFilesAndCopiesWithinTheMount(t *testing.T) {
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
	src := filepath.Join(t.TempDir(), "gross.bin")
	must(t, os.WriteFile(src, content, 0o600))
	sh(t, m, `cd "$1/Muster GmbH"; cp '`+src+`' Briefe/a.bin; cp Briefe/a.bin Rechnungen/b.bin; cp --reflink=auto Briefe/a.bin Rechnungen/c.bin
		python3 -c 'import os
s=os.open("Briefe/a.bin",os.O_RDONLY); d=os.open("Rechnungen/d.bin",os.O_WRONLY|os.O_CREAT)
n=0
try:
  while True:
    k=os.copy_file_range(s,d,1<<20)
    if k==0: break
    n+=k
except OSError as e: 
  import errno; assert e.errno in (errno.ENOSYS,errno.EOPNOTSUPP,errno.EXDEV,errno.EINVAL), e
  while True:
    b=os.read(s,1<<20)
    if not b: break
    os.write(d,b)
os.close(d)'
		for f in b c d; do cmp '`+src+`' Rechnungen/$f.bin; done`)
	if n := len(o.documents(t, o.bills)); n != 3 {
		t.Errorf("%d documents", n)
	}
}

// A mapping outlives the descriptor: bytes stored through it belong to the file.
func TestMappedWrites(t *testing.T) {
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	sh(t, m, `python3 -c '
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o600)
os.ftruncate(fd, 8192)
p = libc.mmap(None, 8192, 3, 1, fd, 0)
ctypes.memmove(p, b"vorher", 6)
os.close(fd)
ctypes.memmove(p + 4096, b"nachher", 7)
assert libc.munmap(p, 8192) == 0' "$1/Muster GmbH/Briefe/a.bin"`)
	m.unmount()
	want := make([]byte, 8192)
	copy(want, "vorher")
	copy(want[4096:], "nachher")
	wantArchived(t, o, o.letters, "a.bin="+string(want))
	if n := len(o.asked("POST", "/file-upload")); n != 1 {
		t.Errorf("%d uploads", n)
	}
}

// A message that the service splits is sent once, whatever the names of the new documents.
func TestSplitMailIsSentOnce(t *testing.T) {
	t.Parallel()
	mail := "From: a@example.org\r\nTo: b@example.org\r\nSubject: Angebot\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nHallo\r\n" +
		"--x\r\nContent-Type: text/plain; name=anlage.txt\r\nContent-Disposition: attachment; filename=anlage.txt\r\n\r\nAnlage\r\n--x--\r\n"
	for name, do := range map[string]hostile.Action{"whole": nil, "lost after": hostile.DropAfter()} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{Upload: hostile.UploadShape{SplitMail: true}})
			m := f.mount(t, nil)
			if do != nil {
				f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: do})
			}
			must(t, os.WriteFile(m.path("Muster GmbH", "Briefe", "angebot.eml"), []byte(mail), 0o600))
			if n := len(f.Documents(f.letters)); n != 2 {
				t.Errorf("%d documents", n)
			}
			if n := f.Count("POST", "/file-upload"); n != 1 {
				t.Errorf("%d uploads", n)
			}
			if ups := m.uploads(); len(ups) != 0 {
				t.Errorf("uploads: %+v", ups)
			}
		})
	}
}

// Programs ask by access(2) before they let a user change a document. Copies of a document can be changed.
func TestArchivedDocumentsAreReadOnly(t *testing.T) {
	o := newOffice(t, nil)
	o.put(t, o.bills, "alt.txt", "alt")
	o.put(t, o.inbox, "brief.txt", "alt")
	m := o.mount(t, nil)
	sh(t, m, `cd "$1"; [ ! -w 'Muster GmbH/Rechnungen/alt.txt' ]; [ -r 'Muster GmbH/Rechnungen/alt.txt' ]; [ -w inboxes/Administrator/brief.txt ]
		echo neu > 'Muster GmbH/Rechnungen/neu.part'; [ -w 'Muster GmbH/Rechnungen/neu.part' ]
		mv 'Muster GmbH/Rechnungen/neu.part' 'Muster GmbH/Rechnungen/neu.txt'; [ ! -w 'Muster GmbH/Rechnungen/neu.txt' ]
		[ "$(stat -c %a 'Muster GmbH/Rechnungen/alt.txt')" = "$(stat -c %a inboxes/Administrator/brief.txt)" ]`)
	m.unmount()
	m.tweak = func(opts *fs.Options) { opts.ReadOnly = true }
	m.remount()
	sh(t, m, `[ ! -w "$1/inboxes/Administrator/brief.txt" ]`)
}

// A file manager makes a thumbnail of every document in a folder, an indexer and a backup read all. No
// document is downloaded for that; cached ones can be read.
func TestUnattendedProgramsDownloadNothing(t *testing.T) {
	cat, err := exec.LookPath("cat")
	must(t, err)
	for _, name := range []string{"tumblerd", "evince-thumbnailer", "kioslave5", "baloo_file_extractor", "restic", "clamscan", "bacula-fd", "Hauseigener Virenscanner"} {
		thumbnailer := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(thumbnailer, get(os.ReadFile(cat))(t), 0o700))
		look := func(path string) (string, error) {
			cmd := exec.CommandContext(t.Context(), thumbnailer, path)
			cmd.Args[0] += " /usr/lib/qt5/plugins/kf5/kio/thumbnail.so"
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, nil)
			o.put(t, o.bills, "a.txt", "eins")
			o.put(t, o.bills, "b.txt", "zwei")
			m := o.mount(t, func(opts *fs.Options) { opts.CrawlerNames = []string{"Hauseigener Virenscanner"} })
			a, b := m.path("Muster GmbH", "Rechnungen", "a.txt"), m.path("Muster GmbH", "Rechnungen", "b.txt")
			if out, err := look(a); err == nil || !strings.Contains(out, "Permission denied") {
				t.Errorf("it read %q, %v", out, err)
			}
			if n := len(o.asked("GET", "/pdf")); n != 0 {
				t.Errorf("%d contents were asked for", n)
			}
			if name == "kioslave5" { // other kioslave5 processes copy files
				if out, err := exec.CommandContext(t.Context(), thumbnailer, b).CombinedOutput(); err != nil || string(out) != "zwei" {
					t.Errorf("it copied %q, %v", out, err)
				}
			}
			wantContent(t, a, "eins")
			if out, err := look(a); err != nil || out != "eins" {
				t.Errorf("of what is here it read %q, %v", out, err)
			}
			must(t, os.WriteFile(m.path("inboxes", "Administrator", "c.txt"), []byte("drei"), 0o600))
			if out, err := look(m.path("inboxes", "Administrator", "c.txt")); err != nil || out != "drei" {
				t.Errorf("of what was put in here it read %q, %v", out, err)
			}
			m.unmount()
			m.tweak = func(opts *fs.Options) {
				opts.CrawlerNames = []string{"Hauseigener Virenscanner"}
				opts.Crawlers = !slices.Contains([]string{"tumblerd", "evince-thumbnailer", "kioslave5"}, name)
				if !opts.Crawlers {
					opts.Thumbnails = fs.ThumbnailsDownload
				}
			}
			m.remount()
			if out, err := look(b); err != nil || out != "zwei" {
				t.Errorf("where it may, it read %q, %v", out, err)
			}
		})
	}
}

// rsnapshot runs rsync, and a script of the user's own what it likes: the name of neither says what it is for.
func TestProgramsThatACrawlerRunsDownloadNothing(t *testing.T) {
	o := newOffice(t, nil)
	o.put(t, o.bills, "a.txt", "eins")
	m := o.mount(t, func(opts *fs.Options) { opts.CrawlerNames = []string{"Wochensicherung.sh"} })
	document := m.path("Muster GmbH", "Rechnungen", "a.txt")
	for _, name := range []string{"rsnapshot", "Wochensicherung.sh", "Lesen.sh"} {
		script, target := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "a.txt")
		must(t, os.WriteFile(script, []byte("#!/bin/sh\n(cp \"$1\" \"$2\")\nexit $?\n"), 0o700))
		out, err := exec.CommandContext(t.Context(), script, document, target).CombinedOutput()
		if name == "Lesen.sh" {
			if err != nil {
				t.Errorf("%s, which is none, got %q, %v", name, out, err)
			}
			continue
		}
		if err == nil || !strings.Contains(string(out), "Permission denied") {
			t.Errorf("%s got %q, %v", name, out, err)
		}
		why := "no document is downloaded for " + name[:min(len(name), 15)] + ", a search index" // so much of it the kernel keeps
		if last := m.fs.Status().LastRefusals[0]; last.Path != "/Muster GmbH/Rechnungen/a.txt" || !strings.HasPrefix(last.Reason, why) {
			t.Errorf("the status says %+v", last)
		}
	}
}
