package fs_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// archivers pack the mount, mnt, into t and unpack that in out. Most take the length of a file by its path,
// and none after they opened it.
var archivers = map[string]string{
	"bsdtar":            `bsdtar -cf t mnt && bsdtar -xf t -C out`,
	"bsdtar, names":     `find mnt -type f | bsdtar -cf t -T - && bsdtar -xf t -C out`,
	"bsdtar, no xattrs": `bsdtar --no-xattrs --no-read-sparse -cf t mnt && bsdtar -xf t -C out`,
	"bsdcpio":           `find mnt | bsdcpio -o >t && (cd out && bsdcpio -id <../t)`,
	"cpio":              `find mnt | cpio -o >t && (cd out && cpio -id <../t)`,
	"ls and cpio":       `ls -d mnt/*/*/* | cpio -o >t && (cd out && cpio -id <../t)`,
	"bsdtar by a shell": `sh -c 'exec bsdtar -cf t mnt/*/*/*' && bsdtar -xf t -C out`,
	"pax":               `pax -wf t mnt && (cd out && pax -rf ../t)`,
	"tarfile":           `python3 -m tarfile -c t mnt && tar -xf t -C out`,
	"genisoimage":       `genisoimage -quiet -R -o t mnt 2>/dev/null && bsdtar -xf t -C out && mkdir out/mnt && mv out/M* out/inboxes out/mnt/`,
	"dd":                `find mnt -type f | while read -r f; do mkdir -p "out/${f%/*}"; dd if="$f" of="out/$f" iflag=count_bytes count="$(stat -c %s "$f")" status=none; done`,
	"tar -S":            `tar -cSf t mnt && tar -xf t -C out`,
	"cp --sparse":       `cp -r --sparse=always mnt out/mnt`,
	"rsync -S":          `rsync -rS mnt out`,
	"zip":               `zip -qr t.zip mnt && unzip -q t.zip -d out`,
}

// bare is a service that tells no lengths, with documents in three folders. wanted has what they hold.
func bare(t *testing.T) (f *foreign, wanted string) {
	t.Helper()
	f, wanted = newForeign(t, hostile.Config{Content: hostile.ContentShape{HeadStatus: 405}}), t.TempDir()
	for folder, path := range map[int64]string{f.bills: "Muster GmbH/Rechnungen", f.letters: "Muster GmbH/Briefe", f.inbox: "inboxes/Administrator"} {
		must(t, os.MkdirAll(filepath.Join(wanted, path), 0o700))
		for i, size := range []int{1, 700, 40_000, 1_500_000, 4096, 131_072} {
			name, content := fmt.Sprintf("%d.txt", i), bytes.Repeat([]byte{'a' + byte(i)}, size)
			f.AddDocument(folder, hostile.Document{Name: name, Content: content})
			must(t, os.WriteFile(filepath.Join(wanted, path, name), content, 0o600))
		}
	}
	return f, wanted
}

// Programs that take the length of a document before they open it get all its bytes and nothing else.
func TestArchiversGetEveryByteAndNoPadding(t *testing.T) {
	for name, script := range archivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, wanted := bare(t)
			m := f.mount(t, nil)
			sh(t, m, `cd "${1%/*}"; mkdir out; `+script+`; diff -r '`+wanted+`' out/mnt`)
		})
	}
}

// Listing a folder downloads nothing but the document by which the mount sees what the service has.
func TestListingProgramsDownloadNothing(t *testing.T) {
	f, _ := bare(t)
	m := f.mount(t, nil)
	for _, program := range []string{"ls", "nautilus", "bash"} {
		path := filepath.Join(t.TempDir(), program)
		must(t, os.WriteFile(path, get(os.ReadFile(get(exec.LookPath("ls"))(t)))(t), 0o700))
		for range 2 {
			get(exec.CommandContext(t.Context(), path, "-lR", m.dir).Output())(t)
		}
	}
	sh(t, m, `find "$1" -ls >/dev/null; du -s "$1" >/dev/null`)
	if n := f.Count("GET", "/document/{id}/pdf"); n > 1 {
		t.Errorf("%d downloads", n)
	}
	sh(t, m, `perl -e 'stat($_) for @ARGV' "$1"/*/*/*`)
	if n := f.Count("GET", "/document/{id}/pdf"); n > 2 {
		t.Errorf("%d downloads, with a program that opens none", n)
	}
}

// An archiver gets the lengths of a large folder although the kernel has estimates of them from a program
// that listed it just before.
func TestArchiverAfterAListingOfALargeFolder(t *testing.T) {
	f := newForeign(t, hostile.Config{Content: hostile.ContentShape{HeadStatus: 405}})
	for i := range 1100 {
		f.AddDocument(f.bills, hostile.Document{Name: fmt.Sprintf("%04d.txt", i), Content: bytes.Repeat([]byte("x"), i%50+1)})
	}
	sh(t, f.mount(t, nil), `cd '`+t.TempDir()+`'; d="$1/Muster GmbH/Rechnungen"; ls -l "$d" >/dev/null; ls -l "$d" >/dev/null
		bsdtar -cf t -C "$d" .; mkdir out; bsdtar -xf t -C out; diff -r "$d" out`)
}
