package spool

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"testing/synctest"
)

// Whatever is written, and however the digest keeps up with it, it is that of the file.
func TestDigestOfAnyWrites(t *testing.T) { synctest.Test(t, digestOfAnyWrites) }

func digestOfAnyWrites(t *testing.T) {
	s, _ := open(t, t.TempDir())
	rng := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		u, err := s.Create(lateBill())
		must(t, err)
		must(t, u.Open())
		var want []byte
		for range 1 + rng.IntN(12) {
			p := bytes.Repeat([]byte{byte(rng.Uint32())}, 1+rng.IntN(2<<20))
			off := len(want)
			switch rng.IntN(8) {
			case 0:
				off = rng.IntN(len(want) + 1)
			case 1:
				off += rng.IntN(1 << 20)
			case 2:
				size := rng.IntN(len(want) + 1)
				must(t, u.Truncate(int64(size)))
				want = want[:size]
				continue
			}
			if end := off + len(p); end > len(want) {
				want = append(want, make([]byte, end-len(want))...)
			}
			copy(want[off:], p)
			_, err := u.WriteAt(p, int64(off))
			must(t, err)
		}
		if len(want) == 0 {
			wantEmpty(t, "commit", commit(u))
		} else if err := commit(u); err != nil || u.Record().SHA256 != sum(string(want)) {
			t.Fatalf("the digest is not that of the %d bytes: %v", len(want), err)
		}
		must(t, u.Close())
		must(t, u.Remove())
	}
	synctest.Wait() // for who hashes beside the writer, and has the file open
	if used, _ := s.Usage(); used != 0 {
		t.Errorf("%d bytes are still counted", used)
	}
}

// A large file is hashed beside its writer, from front to back and once.
func TestALargeFileIsHashedBesideItsWriter(t *testing.T) { synctest.Test(t, largeFileIsHashed) }

func largeFileIsHashed(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u, err := s.Create(lateBill())
	must(t, err)
	piece := bytes.Repeat([]byte("0123456789abcdef"), 8<<10)
	for i := range 64 {
		_, err := u.WriteAt(piece, int64(i*len(piece)))
		must(t, err)
	}
	synctest.Wait() // for who hashes it
	c := &u.content
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.digest.front - c.digest.pos; c.digest.front != 8<<20 || left >= digestBehind {
		t.Errorf("of %d bytes %d are not hashed", c.digest.front, left)
	}
}
