package cache_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// TestContentManyAtOnce opens, reads, removes and replaces a few contents that do not all
// fit, over connections that break, and accepts nothing but exact bytes.
func TestContentManyAtOnce(t *testing.T) {
	const keys, workers, rounds = 6, 8, 60
	s := newShelf(t, 200_000)
	data := make([]string, keys)
	for i := range data {
		data[i] = strings.Repeat(fmt.Sprintf("%08d", i), 6000+1000*i)
	}
	var wg sync.WaitGroup
	for w := range workers {
		rng := rand.New(rand.NewPCG(1, uint64(w)))
		wg.Go(func() {
			for range rounds {
				i := rng.IntN(keys)
				switch rng.IntN(10) {
				case 0:
					s.Remove(key(archive.ID(i)))
				case 1:
					if err := s.Adopt(key(archive.ID(i)), cache.Adoption{Path: spooled(t, data[i]), Print: forever.Print}); err != nil {
						t.Error(err)
					}
				default:
					readSome(t, s, archive.ID(i), data[i], rng)
				}
			}
		})
	}
	wg.Wait()
	s.WaitIdle()
	used, limit := s.Usage()
	if used > limit {
		t.Fatalf("%d bytes used of %d", used, limit)
	}
	s.wantUsage(s.Stats().Files, used)
}

// readSome opens a content and reads a piece of it.
func readSome(t *testing.T, s *shelf, id archive.ID, data string, rng *rand.Rand) {
	t.Helper()
	cut := rng.IntN(len(data))
	r, err := s.Open(t.Context(), key(id), forever, func(_ context.Context, want cache.Want) (*archive.Content, error) {
		body := io.Reader(strings.NewReader(data[want.Offset:]))
		if want.Offset == 0 {
			body = io.MultiReader(strings.NewReader(data[:cut]), failing{errBroken})
		}
		return &archive.Content{Body: io.NopCloser(body), Offset: want.Offset, Size: int64(len(data)), ETag: `"e"`}, nil
	})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = r.Close() }()
	off := rng.IntN(len(data))
	buf := make([]byte, rng.IntN(len(data)-off)+1)
	n, err := r.ReadAt(t.Context(), buf, int64(off))
	if err != nil || string(buf[:n]) != data[off:off+len(buf)] {
		t.Errorf("read %d of %d bytes at %d, %v", n, len(buf), off, err)
	}
}
