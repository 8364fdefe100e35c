package fs_test

import (
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// A program that changes a folder sees the change in its next listing, even while others keep
// listing it and the kernel caches what they read.
func TestOwnChangesAreListedAtOnce(t *testing.T) {
	f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
	for i := range 300 {
		f.AddDocument(f.bills, hostile.Document{Name: fmt.Sprintf("Rechnung %d.pdf", i), Content: []byte("x")})
	}
	m := f.mount(t, nil)
	out := sh(t, m, `
		cd "$1/Muster GmbH/Rechnungen"
		readers=()
		for how in -l -f -1; do
			while :; do ls $how || true; done >/dev/null 2>&1 & readers+=($!)
		done
		has() { ls | grep -qx "$1" || echo "$1 is missing"; }
		lacks() { ls | grep -qx "$1" && echo "$1 is still there" || true; }
		for i in {1..15}; do
			echo x > "neu $i.txt"; has "neu $i.txt"
			mkdir "Neu $i"; has "Neu $i"
			echo x > "neu $i.part"; has "neu $i.part"
			mv "neu $i.part" "alt $i.part"; has "alt $i.part"; lacks "neu $i.part"
			rm "alt $i.part"; lacks "alt $i.part"
			[ "$(ls | wc -l)" = $((300 + 2 * i)) ] || echo "$(ls | wc -l) entries"
		done
		kill "${readers[@]}"; wait || true`)
	if out != "" {
		t.Error(out)
	}
}

// A program that keeps a folder open, as an SMB server does, and reads it from the beginning again is
// shown what it has by then.
func TestADirectoryThatIsRewound(t *testing.T) {
	f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
	for i := range 300 {
		f.AddDocument(f.bills, hostile.Document{Name: fmt.Sprintf("Rechnung %03d.pdf", i), Content: []byte("x")})
	}
	m, c := f.slow(t)
	dir := m.path("Muster GmbH", "Rechnungen")
	names(t, dir)
	open := get(os.Open(dir))(t)
	defer open.Close() //nolint:errcheck // read only
	write(t, m.path("Muster GmbH", "Rechnungen", "a file.txt"), "x")
	must(t, os.Mkdir(m.path("Muster GmbH", "Rechnungen", "a folder"), 0o700))
	got := get(open.Readdirnames(-1))(t)
	if !slices.Contains(got, "a file.txt") || !slices.Contains(got, "a folder") {
		t.Errorf("%d names are read at first, without what was made since the directory was opened", len(got))
	}
	write(t, m.path("Muster GmbH", "Rechnungen", "z.part"), "x")
	must(t, os.Rename(m.path("Muster GmbH", "Rechnungen", "z.part"), m.path("Muster GmbH", "Rechnungen", "zz.part")))
	get(open.Seek(0, io.SeekStart))(t)
	if got := get(open.Readdirnames(-1))(t); len(got) != 303 || !slices.Contains(got, "zz.part") || slices.Contains(got, "z.part") {
		t.Errorf("%d names after a rename", len(got))
	}
	f.AddDocument(f.bills, hostile.Document{Name: "of a colleague.txt", Content: []byte("x")})
	c.advance(2 * longTTL)
	get(open.Seek(0, io.SeekStart))(t)
	if got := get(open.Readdirnames(-1))(t); len(got) != 304 || !slices.Contains(got, "of a colleague.txt") {
		t.Errorf("%d names after a colleague's", len(got))
	}
	wantCount(t, dir, 304)
}
