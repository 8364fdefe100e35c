package cache_test

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// errBroken is how a connection breaks. That its cause is an EOF makes it no regular end.
var errBroken = &archive.Error{Op: "document/pdf", Kind: archive.KindInterrupted, Err: io.EOF}

func TestBrokenDownloadsAreTakenUpAgain(t *testing.T) {
	const strong, weak = `"e1"`, `W/"e1"`
	rest := func(offset int64, etag string) cache.Want { return cache.Want{Offset: offset, Match: etag} }
	tests := map[string]struct {
		answers []cache.Fetch
		wants   []cache.Want
	}{
		"by the ETag": {
			[]cache.Fetch{part(0, "0123", 10, strong, errBroken), part(4, "456789", 10, strong, nil)},
			[]cache.Want{{}, rest(4, strong)},
		},
		"twice": {
			[]cache.Fetch{part(0, "0123", 10, strong, errBroken), part(4, "45", 10, strong, errBroken), part(6, "6789", 10, strong, nil)},
			[]cache.Want{{}, rest(4, strong), rest(6, strong)},
		},
		"with a part that overlaps": {
			[]cache.Fetch{part(0, "0123", 10, strong, errBroken), part(2, "23456789", 10, strong, nil)},
			[]cache.Want{{}, rest(4, strong)},
		},
		"by a service without ranges": {
			[]cache.Fetch{part(0, "0123", 10, strong, errBroken), part(0, "0123456789", 10, strong, nil)},
			[]cache.Want{{}, rest(4, strong)},
		},
		"from the start without an ETag": {
			[]cache.Fetch{part(0, "0123", 10, "", errBroken), part(0, "0123456789", 10, "", nil)},
			[]cache.Want{{}, {}},
		},
		"from the start with a weak ETag": {
			[]cache.Fetch{part(0, "0123", 10, weak, errBroken), part(0, "0123456789", 10, weak, nil)},
			[]cache.Want{{}, {}},
		},
		"after a regular end that came too early": {
			[]cache.Fetch{part(0, "0123", 10, strong, nil), part(4, "456789", 10, strong, nil)},
			[]cache.Want{{}, rest(4, strong)},
		},
		"while the service is away for a moment": {
			[]cache.Fetch{part(0, "0123", 10, strong, errBroken), refuse(away), refuse(away), part(4, "456789", 10, strong, nil)},
			[]cache.Want{{}, rest(4, strong), rest(4, strong), rest(4, strong)},
		},
		"of a length that was not announced": {
			[]cache.Fetch{part(0, "0123", archive.SizeUnknown, strong, errBroken), part(4, "456789", archive.SizeUnknown, strong, nil)},
			[]cache.Want{{}, rest(4, strong)},
		},
		"under a new ETag with the same bytes": {
			[]cache.Fetch{part(0, "0123", 10, strong, errBroken), part(0, "012345", 10, `"e2"`, errBroken), part(6, "6789", 10, `"e2"`, nil)},
			[]cache.Want{{}, rest(4, strong), rest(6, `"e2"`)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, 100)
			sv := script(tt.answers...)
			wantBytes(t, s.open(key(1), ever, sv.fetch), "0123456789")
			if got := sv.asked(); !slices.Equal(got, tt.wants) {
				t.Fatalf("asked for %+v, want %+v", got, tt.wants)
			}
			s.restart()
			wantBytes(t, s.open(key(1), ever, unasked(t)), "0123456789")
		})
	}
}

func TestDownloadsThatCannotBeCompletedFail(t *testing.T) {
	const etag = `"e1"`
	begin := part(0, "0123", 10, etag, errBroken)
	gone := &archive.Error{Op: "document/pdf", Kind: archive.KindNotFound}
	hangs := &archive.Error{Op: "document/pdf", Kind: archive.KindTimeout}
	busy := &archive.Error{Op: "document/pdf", Kind: archive.KindBusy}
	tests := map[string]struct {
		answers []cache.Fetch
		want    error
	}{
		"other bytes from the start":      {[]cache.Fetch{begin, part(0, "01x3456789", 10, `"e2"`, nil)}, cache.ErrChanged},
		"another length":                  {[]cache.Fetch{begin, part(0, "0123456789a", 11, `"e2"`, nil)}, cache.ErrChanged},
		"the rest under another ETag":     {[]cache.Fetch{begin, part(4, "456789", 10, `"e2"`, nil)}, cache.ErrChanged},
		"the rest without an ETag":        {[]cache.Fetch{begin, part(4, "456789", 10, "", nil)}, cache.ErrChanged},
		"longer than announced":           {[]cache.Fetch{part(0, "0123456789a", 10, etag, nil)}, cache.ErrLength},
		"the rest longer than announced":  {[]cache.Fetch{begin, part(4, "456789a", 10, etag, nil)}, cache.ErrLength},
		"gone meanwhile":                  {[]cache.Fetch{begin, refuse(gone)}, gone},
		"away for too long":               {[]cache.Fetch{begin, refuse(away), refuse(away), refuse(away), refuse(away), refuse(away)}, away},
		"trickling":                       {[]cache.Fetch{part(0, "0123", 10, etag, hangs), part(4, "45", 10, etag, hangs)}, hangs},
		"hanging after it broke":          {[]cache.Fetch{begin, refuse(hangs)}, hangs},
		"busy for long after it broke":    {[]cache.Fetch{begin, refuse(busy)}, busy},
		"broken again and again":          {append([]cache.Fetch{begin}, slices.Repeat([]cache.Fetch{part(4, "", 10, etag, errBroken)}, 5)...), errBroken},
		"a regular end too early, always": {append([]cache.Fetch{begin}, slices.Repeat([]cache.Fetch{part(4, "", 10, etag, nil)}, 5)...), io.ErrUnexpectedEOF},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, 100)
			sv := script(tt.answers...)
			r := s.open(key(1), ever, sv.fetch)
			if _, err := r.ReadAt(t.Context(), make([]byte, 10), 0); !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want one that wraps %v", err, tt.want)
			}
			s.WaitIdle()
			if _, err := r.ReadAt(t.Context(), make([]byte, 1), 0); !errors.Is(err, tt.want) {
				t.Fatalf("got %v for bytes that were there, want one that wraps %v", err, tt.want)
			}
			if r.File() != nil {
				t.Fatal("half a content has a file")
			}
			if n := len(sv.asked()); n != len(tt.answers) {
				t.Fatalf("%d requests, want %d", n, len(tt.answers))
			}
			_ = r.Close()
			s.wantUsage(0, 0)
			s.put(key(1), "whole") // the failure is not remembered
		})
	}
}

func TestRepetitionThatEndsEarlyIsAnotherContent(t *testing.T) {
	s := newShelf(t, 100)
	sv := script(part(0, "0123", archive.SizeUnknown, "", errBroken), part(0, "01", archive.SizeUnknown, "", nil))
	if _, err := s.Open(t.Context(), key(1), forever, sv.fetch); !errors.Is(err, cache.ErrChanged) {
		t.Fatalf("got %v, want ErrChanged", err)
	}
	s.WaitIdle()
	s.wantUsage(0, 0)
}

func TestWaitsBetweenTriesGrow(t *testing.T) {
	s := newShelf(t, 100)
	var waits []time.Duration
	s.SetPause(func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	})
	answers := append([]cache.Fetch{part(0, "0123", 10, `"e"`, errBroken)}, slices.Repeat([]cache.Fetch{refuse(away)}, 5)...)
	r := s.open(key(1), ever, script(answers...).fetch)
	if _, err := r.ReadAt(t.Context(), make([]byte, 10), 0); !errors.Is(err, away) {
		t.Fatalf("got %v, want one that wraps %v", err, away)
	}
	want := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond}
	if !slices.Equal(waits, want) {
		t.Fatalf("waits %v, want %v", waits, want)
	}
}

func TestFullDiskDropsWhatNobodyUses(t *testing.T) {
	s := newShelf(t, 100)
	s.put(key(1), "unused")
	s.put(key(2), "in use")
	used := s.open(key(2), ever, unasked(t))
	s.SetWrite(func(f *os.File, p []byte, off int64) (int, error) {
		if _, ok := s.Lookup(key(1)); ok {
			n, err := f.WriteAt(p[:1], off)
			return n, errors.Join(err, syscall.ENOSPC)
		}
		return f.WriteAt(p, off)
	})
	wantBytes(t, s.open(key(3), ever, whole("finds room", "")), "finds room")
	wantBytes(t, used, "in use")

	s.WaitIdle()
	s.SetWrite(func(*os.File, []byte, int64) (int, error) { return 0, syscall.ENOSPC })
	r := s.open(key(4), ever, whole("finds none", ""))
	wantBytes(t, r, "finds none")
	_ = r.Close()
	s.WaitIdle()
	s.wantUsage(2, 16) // nothing of it is kept
}

func TestLastReaderCancelsLessThanHalf(t *testing.T) {
	s := newShelf(t, 100)
	st := newStream(10)
	first, second := s.open(key(1), ever, st.fetch), s.open(key(1), ever, st.fetch)
	st.send("0123")
	_ = first.Close()
	st.send("4") // half: but what counts is when the last one leaves
	if _, err := second.ReadAt(t.Context(), make([]byte, 5), 0); err != nil {
		t.Fatal(err)
	}
	_ = second.Close()
	st.send("56789")
	st.end()
	s.WaitIdle()
	wantBytes(t, s.open(key(1), ever, unasked(t)), "0123456789")

	st = newStream(10)
	r := s.open(key(2), ever, st.fetch)
	st.send("0123")
	if _, err := r.ReadAt(t.Context(), make([]byte, 4), 0); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	_ = r.Close() // does nothing
	<-st.ended
	wantBytes(t, s.open(key(2), ever, whole("anew", "")), "anew")
	s.WaitIdle()
	s.wantUsage(2, 14)
}

func TestOpenersLeaveOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, 100)
		ended := make(chan error, 1)
		silent := func(ctx context.Context, _ cache.Want) (*archive.Content, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}
		open := func() (context.CancelFunc, <-chan error) {
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan error, 1)
			go func() {
				_, err := s.Open(ctx, key(1), forever, silent)
				got <- err
			}()
			synctest.Wait()
			return cancel, got
		}
		cancelFirst, first := open()
		cancelSecond, second := open()
		cancelFirst()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
		synctest.Wait()
		if len(ended) != 0 {
			t.Fatal("the download ended with an opener still waiting")
		}
		cancelSecond()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("the download ended with %v after its last opener had gone", err)
		}
		s.put(key(1), "anew")
	})
}
