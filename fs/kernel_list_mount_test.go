package fs_test

import (
	"fmt"
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
