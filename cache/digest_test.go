package cache_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// told has an answer tell the SHA-256 of a text.
func told(of string, fetch cache.Fetch) cache.Fetch {
	sum := sha256.Sum256([]byte(of))
	return func(ctx context.Context, want cache.Want) (*archive.Content, error) {
		content, err := fetch(ctx, want)
		if err == nil {
			content.SHA256 = hex.EncodeToString(sum[:])
		}
		return content, err
	}
}

// What has another SHA-256 than the service tells is never read to its end, and not kept.
func TestWhatIsNotAsTheServiceSays(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 40_000) // several pieces
	damaged := "x" + long[1:]
	sized := func(text string) cache.Fetch { return whole(text, "") }
	unsized := func(text string) cache.Fetch { return part(0, text, archive.SizeUnknown, "", nil) }
	for name, answer := range map[string]func(text string) cache.Fetch{"of a known size": sized, "of an unknown size": unsized} {
		for _, text := range []string{"9876543210", damaged} {
			t.Run(name, func(t *testing.T) {
				s := newShelf(t, 10<<20)
				if r, err := s.Open(t.Context(), key(1), forever, told("0123456789", answer(text))); err == nil {
					_, err := r.ReadAt(t.Context(), make([]byte, len(text)), 0)
					if !errors.Is(err, cache.ErrDigest) {
						t.Errorf("all was read: %v", err)
					}
					_ = r.Close()
				} else if !errors.Is(err, cache.ErrDigest) {
					t.Errorf("got %v", err)
				}
				s.WaitIdle()
				s.wantUsage(0, 0)
				wantBytes(t, s.open(key(1), forever, told(text, answer(text))), text)
			})
		}
	}
}

// The SHA-256 is that of what came in parts, too, and what is kept is compared with it again.
func TestWhatIsAsTheServiceSays(t *testing.T) {
	const text = "0123456789"
	s := newShelf(t, 100)
	sv := script(told(text, part(0, text[:4], 10, `"e"`, io.ErrUnexpectedEOF)), told("of a part", part(4, text[4:], 10, `"e"`, nil)))
	r := s.open(key(1), forever, sv.fetch)
	wantBytes(t, r, text)
	_ = r.Close()
	s.WaitIdle()
	s.wantUsage(1, 10)
	s.restart()
	wantBytes(t, s.open(key(1), forever, unasked(t)), text)
	s.WaitIdle()
	wantBytes(t, s.open(key(2), forever, told("", whole("", ""))), "")
}
