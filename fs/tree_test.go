package fs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// names lists a directory.
func names(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	for _, e := range get(os.ReadDir(dir))(t) {
		all = append(all, e.Name())
	}
	return all
}

func wantNames(t testing.TB, dir string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("%s shows %q, want %q", filepath.Base(dir), got, want)
	}
}

func wantContent(t testing.TB, path, want string) {
	t.Helper()
	if got := string(get(os.ReadFile(path))(t)); got != want {
		t.Errorf("%s holds %.60q, want %.60q", filepath.Base(path), got, want)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.bills, "Rechnung 1.pdf", "%PDF-1.4 one %%EOF")
	o.put(t, o.mandator, "Übersicht.txt", "text")
	o.put(t, o.inbox, "scan-0001.pdf", "%PDF-1.4 scan %%EOF")
	m := o.mount(t, nil)
	wantNames(t, m.dir, "Muster GmbH", "inboxes")
	wantNames(t, m.path("Muster GmbH"), "Rechnungen", "Briefe", "Übersicht.txt")
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "Rechnung 1.pdf")
	wantNames(t, m.path("inboxes"), "Administrator")
	wantNames(t, m.path("inboxes", "Administrator"), "scan-0001.pdf")
	wantNames(t, m.path("Muster GmbH", "Briefe"))
	wantContent(t, m.path("Muster GmbH", "Rechnungen", "Rechnung 1.pdf"), "%PDF-1.4 one %%EOF")
	wantContent(t, m.path("inboxes", "Administrator", "scan-0001.pdf"), "%PDF-1.4 scan %%EOF")
	info := get(os.Stat(m.path("Muster GmbH", "Rechnungen", "Rechnung 1.pdf")))(t)
	if want := time.Date(2024, 3, 1, 13, 0, 0, 0, time.UTC); !info.ModTime().Equal(want) {
		t.Errorf("modified %v, want the archiving date %v", info.ModTime(), want)
	}
	if info.Size() != 18 || info.Mode() != 0o600 {
		t.Errorf("size %d mode %v, want 18 and -rw-------", info.Size(), info.Mode())
	}
	if _, err := os.Stat(m.path("no such mandator")); !os.IsNotExist(err) {
		t.Errorf("missing name: %v", err)
	}
}

func TestForeignServiceWithEveryOddName(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]hostile.Config{
		"comfortable": {},
		"bare":        {OnlyEight: true, List: hostile.ListShape{}, StringIDs: true, Singles: true},
		"noisy":       {ExtraFields: true, NullEntries: true, Numbers: true, BOM: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, cfg)
			odd := hostile.OddNames()
			for _, n := range odd {
				f.AddDocument(f.bills, hostile.Document{Name: n, Content: []byte("content of " + n)})
			}
			m := f.mount(t, nil)
			first := names(t, m.path("Muster GmbH", "Rechnungen"))
			if len(first) != len(odd) {
				t.Errorf("%d of %d documents are shown: %q", len(first), len(odd), first)
			}
			for _, n := range first {
				if _, err := os.ReadFile(m.path("Muster GmbH", "Rechnungen", n)); err != nil {
					t.Errorf("read %q: %v", n, err)
				}
			}
			m.remount()
			if again := names(t, m.path("Muster GmbH", "Rechnungen")); !slices.Equal(first, again) {
				t.Errorf("a fresh mount shows other names:\n%q\n%q", first, again)
			}
		})
	}
}

func TestMandatorsWithReservedNames(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	one := get(o.AddMandator(t.Context(), "inboxes"))(t)
	get(o.AddFolder(t.Context(), one, "below"))(t)
	m := o.mount(t, nil)
	var shown string
	for _, n := range names(t, m.dir) {
		if strings.HasPrefix(n, "inboxes (") {
			shown = n
		}
	}
	if shown == "" {
		t.Fatalf("the mandator called inboxes is not shown: %q", names(t, m.dir))
	}
	wantNames(t, m.path(shown), "below")
}

// controlNames are the names at the top of the control directory.
func controlNames(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, e := range get(control.New(nil, nil, time.Now, 0).Root().List(t.Context()))(t) {
		all = append(all, e.Name)
	}
	slices.Sort(all)
	return all
}

func TestControlDirectoryIsReachableButNotListed(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	wantNames(t, m.path(".archivefs"), controlNames(t)...)
	if text := string(get(os.ReadFile(m.path(".archivefs", "status.json")))(t)); !strings.Contains(text, `"health": "ok"`) {
		t.Errorf("status.json: %s", text)
	}
	write(t, m.path("Muster GmbH", ".~lock.letter#"), "erika")
	if text := string(get(os.ReadFile(m.path(".archivefs", "status.json")))(t)); !strings.Contains(text, `"local": 1`) {
		t.Errorf("status.json: %s", text)
	}
	if slices.Contains(names(t, m.dir), ".archivefs") {
		t.Error("the control directory is listed")
	}
	wantErrno(t, "create in the control directory", os.WriteFile(m.path(".archivefs", "x"), nil, 0o600), syscall.EPERM)
	wantErrno(t, "mkdir in the control directory", os.Mkdir(m.path(".archivefs", "x"), 0o700), syscall.EPERM)
}

// A long listing takes few requests, and none for content.
func TestListingDownloadsNothing(t *testing.T) {
	o := newOffice(t, nil)
	for i := range 100 {
		o.put(t, o.bills, "Rechnung.txt", strings.Repeat("x", i+1))
	}
	m := o.mount(t, nil)
	o.forget()
	out := get(exec.CommandContext(t.Context(), "ls", "-l", m.path("Muster GmbH", "Rechnungen")).CombinedOutput())(t)
	if lines := strings.Count(string(out), "\n"); lines != 101 {
		t.Errorf("ls printed %d lines:\n%s", lines, out)
	}
	if got := o.asked("GET", "/pdf"); len(got) != 0 {
		t.Errorf("a listing asked for content %d times", len(got))
	}
	if all := o.asked("", ""); len(all) > 4 {
		t.Errorf("a listing took %d requests: %v", len(all), all)
	}
}

// If the length is unknown, a generous estimate is shown, and every byte can still be read.
func TestUnknownSizes(t *testing.T) {
	f := newForeign(t, hostile.Config{Content: hostile.ContentShape{HeadStatus: 405, Chunked: true}})
	content := strings.Repeat("0123456789", 10_000)
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte(content)})
	f.AddDocument(f.bills, hostile.Document{Name: "b.txt", Content: []byte(content)})
	m := f.mount(t, nil)
	dir := m.path("Muster GmbH", "Rechnungen")
	if listed := strings.Fields(sh(t, m, `find "$1" -name a.txt -printf '%s %b'`)); len(listed) != 2 || len(listed[0]) < 7 || listed[1] != "0" {
		t.Errorf("bytes and blocks of %d: %q", len(content), listed)
	}
	out := t.TempDir()
	for _, tool := range [][]string{
		{"cp", filepath.Join(dir, "a.txt"), filepath.Join(out, "cp.txt")},
		{"rsync", "-a", filepath.Join(dir, "b.txt"), filepath.Join(out, "rsync.txt")},
	} {
		if b, err := exec.CommandContext(t.Context(), tool[0], tool[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", tool, err, b)
		}
	}
	wantContent(t, filepath.Join(out, "cp.txt"), content)
	wantContent(t, filepath.Join(out, "rsync.txt"), content)
	if info := get(os.Stat(filepath.Join(dir, "a.txt")))(t); info.Size() != int64(len(content)) {
		t.Errorf("after reading the size is %d, want %d", info.Size(), len(content))
	}
}

// However long the kernel trusts an estimate, nobody reads too little or too much: the length is exact once a
// document is open, whether the estimate was too large or too small, and for whoever looked at it before.
func TestEstimatesCutNoContent(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{Content: hostile.ContentShape{HeadStatus: 405, Chunked: true}})
	lengths := []int{1, 4095, 4096, 100_001, 2 << 20, 5<<20 + 1}
	names := make([]string, len(lengths))
	contents := make([]string, len(lengths))
	for i, n := range lengths {
		names[i] = fmt.Sprintf("%d.txt", n)
		contents[i] = strings.Repeat("0123456789abcdef", n/16+1)[:n]
		f.AddDocument(f.bills, hostile.Document{Name: names[i], Content: []byte(contents[i])})
	}
	for tool, script := range map[string]string{
		"cat":    `cat "$1" > "$2"`,
		"cp":     `cp "$1" "$2"`,
		"dd":     `dd if="$1" of="$2" bs=1M status=none`,
		"rsync":  `rsync -a "$1" "$2"`,
		"tar":    `tar -C "${1%/*}" -cf - "${1##*/}" | tar -xOf - > "$2"`,
		"mmap":   `python3 -c 'import mmap, sys; f = open(sys.argv[1], "rb"); open(sys.argv[2], "wb").write(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:])' "$1" "$2"`,
		"end":    `tail -c 1048576 "$1" > "$2.end"; head -c -1048576 "$1" > "$2"; cat "$2.end" >> "$2"`,
		"at end": `python3 -c 'import os, sys; f = open(sys.argv[1], "rb"); n = f.seek(0, os.SEEK_END); f.seek(0); open(sys.argv[2], "wb").write(f.read(n))' "$1" "$2"`,
		"length": `python3 -c 'import os, sys; f = os.open(sys.argv[1], os.O_RDONLY); open(sys.argv[2], "wb").write(os.read(f, os.fstat(f).st_size))' "$1" "$2"`,
	} {
		t.Run(tool, func(t *testing.T) {
			m, _ := f.slow(t)
			dir := m.path("Muster GmbH", "Rechnungen")
			for range 2 { // with and without attributes in the kernel
				for _, e := range get(os.ReadDir(dir))(t) {
					get(e.Info())(t)
				}
			}
			out := t.TempDir()
			for i, name := range names {
				to := filepath.Join(out, name)
				if said, err := exec.CommandContext(t.Context(), "bash", "-c", script, "bash", filepath.Join(dir, name), to).CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", name, err, said)
				}
				wantContent(t, to, contents[i])
				if info := get(os.Stat(filepath.Join(dir, name)))(t); info.Size() != int64(lengths[i]) {
					t.Errorf("%s has %d bytes after it was read", name, info.Size())
				}
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.inbox, "scan.txt", "x")
	m := o.mount(t, func(opts *fs.Options) { opts.ReadOnly = true })
	wantErrno(t, "create", os.WriteFile(m.path("Muster GmbH", "a"), nil, 0o600), syscall.EROFS)
	wantErrno(t, "mkdir", os.Mkdir(m.path("Muster GmbH", "a"), 0o700), syscall.EROFS)
	wantErrno(t, "remove", os.Remove(m.path("inboxes", "Administrator", "scan.txt")), syscall.EROFS)
	wantErrno(t, "rename", os.Rename(m.path("inboxes", "Administrator", "scan.txt"), m.path("Muster GmbH", "a")), syscall.EROFS)
	wantContent(t, m.path("inboxes", "Administrator", "scan.txt"), "x")
}

func TestServiceOfEightOperations(t *testing.T) {
	t.Parallel()
	for name, cred := range map[string]server.Credentials{
		"key":   {APIKey: "k"},
		"set A": {APIKey: "k", User: "erika", Password: "geheim"},
		"set B": {APIKey: "k", CloudID: "cloud-1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, func(so *server.Options) { so.OnlyEight, so.HideSizes, so.Credentials = true, true, cred })
			o.put(t, o.bills, "Rechnung 1234-5", "%PDF-1.4 %%EOF")
			o.put(t, o.inbox, "scan.pdf", "%PDF-1.4 scan %%EOF")
			m := o.mount(t, nil)
			wantNames(t, m.path("Muster GmbH", "Rechnungen"), "Rechnung 1234-5.json")
			if text := string(get(os.ReadFile(m.path("Muster GmbH", "Rechnungen", "Rechnung 1234-5.json")))(t)); !strings.Contains(text, `"name":"Rechnung 1234-5"`) && !strings.Contains(text, `"name": "Rechnung 1234-5"`) {
				t.Errorf("the data of the document is %s", text)
			}
			must(t, os.Mkdir(m.path("Muster GmbH", "Neu"), 0o700))
			must(t, os.WriteFile(m.path("Muster GmbH", "Neu", "brief.txt"), []byte("Guten Tag"), 0o600))
			wantContent(t, m.path("Muster GmbH", "Neu", "brief.txt"), "Guten Tag")
			must(t, os.Rename(m.path("inboxes", "Administrator", "scan.pdf"), m.path("Muster GmbH", "Neu", "y.pdf")))
			wantNames(t, m.path("Muster GmbH", "Neu"), "brief.txt", "y.pdf")
			wantNames(t, m.path("inboxes", "Administrator"))
			wantErrno(t, "rename an archived document", os.Rename(m.path("Muster GmbH", "Neu", "y.pdf"), m.path("Muster GmbH", "Neu", "z.pdf")), syscall.EPERM)
		})
	}
}
