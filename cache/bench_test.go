package cache_test

import (
	"strings"
	"testing"
)

// letterBytes is the size of a scanned letter.
const letterBytes = 150 << 10

// BenchmarkOpenCached opens and closes a content that is on disk, and BenchmarkReadCached
// reads it, too.
func BenchmarkOpenCached(b *testing.B) {
	s := cachedLetter(b)
	b.ReportAllocs()
	for b.Loop() {
		s.openCached(b, nil)
	}
}

func BenchmarkReadCached(b *testing.B) {
	s := cachedLetter(b)
	p := make([]byte, letterBytes)
	b.SetBytes(letterBytes)
	b.ReportAllocs()
	for b.Loop() {
		s.openCached(b, p)
	}
}

// openCached opens the letter, reads it into p, and closes it.
func (s *shelf) openCached(t testing.TB, p []byte) {
	r, err := s.Open(t.Context(), key(1), forever, nil) // a fetch would be a panic
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.ReadAt(t.Context(), p, 0); n != len(p) || err != nil {
		t.Fatal(n, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func cachedLetter(t testing.TB) *shelf {
	s := newShelf(t, 10*letterBytes)
	s.put(key(1), strings.Repeat("x", letterBytes))
	return s
}

// A cached content is opened by every program that looks into a file, so what that allocates
// is counted: the descriptor, the reader, and no name that is put together more than once.
func TestOpeningCachedAllocatesLittle(t *testing.T) {
	s := cachedLetter(t)
	s.openCached(t, nil) // the first use checks the bytes
	const budget = 14
	if allocs := testing.AllocsPerRun(100, func() { s.openCached(t, nil) }); allocs > budget {
		t.Errorf("%v allocations, at most %d", allocs, budget)
	}
}
