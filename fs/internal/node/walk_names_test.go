package node

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/staging"
)

// readAll reads an open directory as READDIRPLUS does and counts the entries that got more
// than a name.
func readAll(t *testing.T, h *dirHandle, budget int) (more int) {
	t.Helper()
	for {
		de, errno := h.Readdirent(t.Context())
		if errno != 0 {
			t.Fatal(errno)
		}
		if de == nil {
			return more
		}
		if de.Name == "." || de.Name == ".." {
			continue
		}
		if h.listing.byName && h.last.Dir == nil {
			var out fuse.EntryOut
			if node, errno := h.Lookup(t.Context(), de.Name, &out); node != nil || errno != syscall.ENODATA {
				t.Errorf("%s: %v, %v", de.Name, node, errno)
			}
			continue
		}
		if more++; more > budget {
			t.Fatalf("%s is not told by its name alone", de.Name)
		}
	}
}

// A walk makes no file of a document that nobody looks at, and is told all of documents
// after it looked at one.
func TestWalkIsToldNamesUntilItLooks(t *testing.T) {
	k, d := holds(t, remotetest.Named(1, "a.pdf"), remotetest.Named(2, "b.pdf"), remotetest.Named(3, "c.pdf"))
	w := new(prefetch.Walk)
	open := func() *dirHandle {
		h := &dirHandle{n: &dirNode{d: d}}
		h.listing, h.entries = listingOf(d, content.Walked{Dir: d, Env: k.Contents}.ByName(w))
		return h
	}
	if (content.Walked{Dir: d, Env: k.Contents}).ByName(nil) {
		t.Error("who does not walk is told names alone")
	}
	readAll(t, open(), 0)
	for _, e := range d.Entries() {
		if staging.FileAt(e) != nil {
			t.Errorf("%s has a file", e.Name)
		}
		if ino := d.InoOf(e); ino != staging.FileOf(d, e).Ino {
			t.Errorf("%s has the number %d, and %d when somebody looks", e.Name, ino, staging.FileOf(d, e).Ino)
		}
	}
	content.Walked{Dir: d, Env: k.Contents}.Looked()
	if !w.Looks() || open().listing.byName {
		t.Error("the walk looked at a document and is told names alone")
	}
	other := new(prefetch.Walk)
	if !(content.Walked{Dir: d, Env: k.Contents}).ByName(other) {
		t.Error("another walk did not look")
	}
}

// What has no id that makes a number keeps the one of its file.
func TestNumbersWithoutIDs(t *testing.T) {
	_, d := holds(t, remotetest.Named(-4, "a.pdf"))
	e := d.Entries()[0]
	if first, again := d.InoOf(e), d.InoOf(e); first != again || first != staging.FileOf(d, e).Ino {
		t.Errorf("numbers %d and %d", first, again)
	}
}

// To read a known directory allocates nothing for an entry.
func TestReaddirAllocatesNothing(t *testing.T) {
	_, d := holds(t, remotetest.Named(1, "a.pdf"), remotetest.Named(2, "b.pdf"), remotetest.Named(3, "c.pdf"))
	h := &dirHandle{n: &dirNode{d: d}}
	h.listing, h.entries = listingOf(d, true)
	ctx := context.Background()
	var out fuse.EntryOut
	allocs := testing.AllocsPerRun(100, func() {
		h.next = 0
		for {
			de, _ := h.Readdirent(ctx)
			if de == nil {
				return
			}
			if de.Name[0] != '.' {
				_, _ = h.Lookup(ctx, de.Name, &out)
			}
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// BenchmarkReaddir reads a known folder of 10,000 documents, as a walk does.
func BenchmarkReaddir(b *testing.B) {
	list := make([]archive.Document, 10_000)
	for i := range list {
		list[i] = remotetest.Named(archive.ID(i+1), fmt.Sprintf("Rechnung Nr. %06d.pdf", i))
	}
	_, d := holds(b, list...)
	h := &dirHandle{n: &dirNode{d: d}}
	h.listing, h.entries = listingOf(d, true)
	b.ReportAllocs()
	for b.Loop() {
		h.next = 0
		for e, _ := h.Readdirent(b.Context()); e != nil; e, _ = h.Readdirent(b.Context()) {
		}
	}
}
