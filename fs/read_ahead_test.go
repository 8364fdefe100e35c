package fs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/server"
)

// reading mounts an office with forty small letters and a large one, and returns their paths sorted
// by name.
func (o *office) reading(t *testing.T) (*mounted, []string) {
	t.Helper()
	c := newClock() // stands still, so that a busy machine makes no pauses between reads
	m := o.mount(t, func(opts *fs.Options) { opts.ReadAhead, opts.Now = 8, c.Now })
	var paths []string
	for i := range 40 {
		name := fmt.Sprintf("%02d.txt", i)
		o.put(t, o.letters, name, "letter "+name)
		paths = append(paths, m.path("Muster GmbH", "Briefe", name))
	}
	o.put(t, o.letters, "02 large.txt", strings.Repeat("x", 1<<20+1))
	names(t, m.path("Muster GmbH", "Briefe"))
	o.forget()
	return m, paths
}

// fetched counts the contents that the service was asked for.
func (o *office) fetched() int { return len(o.asked("GET", "/pdf")) }

func TestOneDocumentPrefetchesNoOther(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m, paths := o.reading(t)
	wantContent(t, paths[0], "letter 00.txt")
	wantContent(t, paths[0], "letter 00.txt")
	m.unmount() // ends what is under way
	if n := o.fetched(); n != 1 {
		t.Errorf("%d contents were asked for, want 1", n)
	}
}

func TestDocumentsReadInOrderArePrefetched(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m, paths := o.reading(t)
	for _, p := range paths {
		wantContent(t, p, "letter "+p[len(p)-6:])
	}
	m.unmount() // ends what is under way
	asked := map[string]int{}
	for _, r := range o.asked("GET", "/pdf") {
		asked[r.Path]++
	}
	if len(asked) != len(paths) {
		t.Errorf("%d documents were asked for, want the %d small ones", len(asked), len(paths))
	}
	for path, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

// Documents of unknown length are prefetched, too.
func TestDocumentsOfUnknownLengthArePrefetched(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(opts *server.Options) { opts.HideSizes, opts.NoHead, opts.NoRange = true, true, true })
	m, paths := o.reading(t)
	const read = 10
	for _, p := range paths[:read] {
		wantContent(t, p, "letter "+p[len(p)-6:])
	}
	m.unmount() // ends what is under way
	asked := map[string]int{}
	for _, r := range o.asked("GET", "/pdf") {
		asked[r.Path]++
	}
	if len(asked) < read+5 {
		t.Errorf("%d documents were asked for when %d had been read", len(asked), read)
	}
	for path, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

func TestUnreadDocumentsEndThePrefetch(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m, paths := o.reading(t)
	for i := range 8 { // never what follows
		wantContent(t, paths[39-3*i], fmt.Sprintf("letter %02d.txt", 39-3*i))
	}
	m.unmount() // ends what is under way
	if n := o.fetched(); n > 8+2 {
		t.Errorf("%d contents were asked for, want the 8 that were read and 2 ahead", n)
	}
}
