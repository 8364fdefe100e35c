package blob_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

// contents is the common interface of both kinds of storage.
type contents interface {
	Stage(ctx context.Context, r io.Reader) (blob.Staged, error)
	Publish(ctx context.Context, staged ...blob.Staged) error
	Open(ctx context.Context, digest string) (io.ReadSeekCloser, error)
	Remove(ctx context.Context, digest string) error
	Has(ctx context.Context, digests ...string) (bool, error)
	Walk(ctx context.Context, before time.Time, each func(digest string) error) error
	Check(ctx context.Context) error
	Claim(ctx context.Context, id string) error
	Claimed(ctx context.Context, id string) error
}

// place is an empty storage for contents.
type place struct {
	open func(t *testing.T) contents // again, as another process would
	// staged counts the temporary files.
	staged func(t *testing.T) int
}

// everywhere runs a test with contents in files and in a bucket.
func everywhere(t *testing.T, test func(t *testing.T, p place)) {
	t.Run("files", func(t *testing.T) {
		dir := t.TempDir()
		test(t, place{
			open:   func(t *testing.T) contents { return openFiles(t, dir) },
			staged: func(t *testing.T) int { return entries(t, dir+"/incoming") },
		})
	})
	t.Run("bucket", func(t *testing.T) {
		address, scratch := s3test.Start(t).Bucket(t, "contents"), t.TempDir()
		test(t, place{
			open:   func(t *testing.T) contents { return openBucket(t, address, scratch) },
			staged: func(t *testing.T) int { return entries(t, scratch) },
		})
	})
}

func digest(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

func read(t *testing.T, c contents, digest string) string {
	t.Helper()
	r, err := c.Open(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func stage(t *testing.T, c contents, content string) blob.Staged {
	t.Helper()
	staged, err := c.Stage(t.Context(), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return staged
}

func keep(t *testing.T, c contents, several ...string) {
	t.Helper()
	staged := make([]blob.Staged, 0, len(several))
	for _, content := range several {
		staged = append(staged, stage(t, c, content))
	}
	if err := c.Publish(t.Context(), staged...); err != nil {
		t.Fatal(err)
	}
	for _, s := range staged {
		if err := s.Discard(); err != nil {
			t.Fatal(err)
		}
	}
}

func wantStaged(t *testing.T, p place, want int) {
	t.Helper()
	if n := p.staged(t); n != want {
		t.Errorf("%d staged, want %d", n, want)
	}
}

// walk returns what was published before a time.
func walk(t *testing.T, c contents, before time.Time) []string {
	t.Helper()
	var found []string
	err := c.Walk(t.Context(), before, func(digest string) error {
		found = append(found, digest)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantMissing(t *testing.T, c contents, content string) {
	t.Helper()
	if _, err := c.Open(t.Context(), digest(content)); !errors.Is(err, blob.ErrMissing) {
		t.Errorf("got %v, want ErrMissing", err)
	}
}

func TestContentsComeBack(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		c := p.open(t)
		for _, content := range []string{"", "x", strings.Repeat("0123456789", 100_000), strings.Repeat("x", 1<<20), strings.Repeat("0123456789", 1_100_000)} {
			// Reading byte by byte and all at once give the same.
			for _, r := range []io.Reader{strings.NewReader(content), iotest.HalfReader(strings.NewReader(content))} {
				staged, err := c.Stage(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if staged.Digest() != digest(content) || staged.Size() != int64(len(content)) {
					t.Errorf("%d bytes: digest %s, size %d", len(content), staged.Digest(), staged.Size())
				}
				before, err := io.ReadAll(io.NewSectionReader(staged, 0, staged.Size()))
				if err != nil || string(before) != content {
					t.Errorf("staged: %d bytes, %v", len(before), err)
				}
				if err := errors.Join(c.Publish(t.Context(), staged), c.Publish(t.Context(), staged), staged.Discard()); err != nil {
					t.Fatal(err)
				}
			}
			if got := read(t, c, digest(content)); got != content {
				t.Errorf("%d bytes came back as %d", len(content), len(got))
			}
			if got := read(t, p.open(t), digest(content)); got != content {
				t.Errorf("opened again, %d bytes came back as %d", len(content), len(got))
			}
		}
		wantStaged(t, p, 0)
		if err := c.Check(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestContentsAreReadHereAndThere(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		c := p.open(t)
		content := strings.Repeat("0123456789", 50_000)
		keep(t, c, content)
		r, err := c.Open(t.Context(), digest(content))
		if err != nil {
			t.Fatal(err)
		}
		if size, err := r.Seek(0, io.SeekEnd); err != nil || size != int64(len(content)) {
			t.Errorf("the length is %d, %v; want %d", size, err, len(content))
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("at the end %d bytes, %v", n, err)
		}
		if _, err := r.Seek(-1, io.SeekStart); err == nil {
			t.Error("there is something before the beginning")
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			at, n := random.IntN(len(content)), 1+random.IntN(100_000)
			if _, err := r.Seek(int64(at), io.SeekStart); err != nil {
				t.Fatal(err)
			}
			part, err := io.ReadAll(io.LimitReader(r, int64(n)))
			if want := content[at:min(at+n, len(content))]; err != nil || string(part) != want {
				t.Fatalf("%d bytes at %d: got %d, %v", n, at, len(part), err)
			}
			if _, err := r.Seek(-int64(len(part)), io.SeekCurrent); err != nil {
				t.Fatal(err)
			}
			again := make([]byte, len(part))
			if _, err := io.ReadFull(r, again); err != nil || !slices.Equal(again, part) {
				t.Fatalf("%d bytes at %d once more: %v", n, at, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wantStaged(t, p, 0)
	})
}

func TestWhatFailsLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		c := p.open(t)
		for _, cause := range []error{io.ErrUnexpectedEOF, errors.New("broken")} {
			for _, half := range []string{"half", strings.Repeat("half", 1_000_000)} {
				_, err := c.Stage(t.Context(), io.MultiReader(strings.NewReader(half), iotest.ErrReader(cause)))
				if !errors.Is(err, cause) {
					t.Errorf("%d bytes: got %v, want %v", len(half), err, cause)
				}
			}
		}
		wantStaged(t, p, 0)
		staged := stage(t, c, "unwanted")
		if err := errors.Join(staged.Discard(), staged.Discard(), c.Publish(t.Context(), staged)); err != nil {
			t.Fatal(err)
		}
		wantStaged(t, p, 0)
		wantMissing(t, c, "unwanted")
		if err := c.Publish(t.Context(), stage(t, p.open(t), "of another")); err == nil {
			t.Error("published what was staged elsewhere")
		}
	})
}

func TestOpeningSweepsWhatWasStaged(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		stage(t, p.open(t), "interrupted")
		p.open(t)
		wantStaged(t, p, 0)
		wantMissing(t, p.open(t), "interrupted")
	})
}

func TestOnlyDigestsNameContents(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		c := p.open(t)
		for _, name := range []string{"", "x", "../secret", strings.Repeat("../", 21) + "x", strings.Repeat("z", 64), digest("absent")} {
			if _, err := c.Open(t.Context(), name); !errors.Is(err, blob.ErrMissing) {
				t.Errorf("open %q: %v", name, err)
			}
			if err := c.Remove(t.Context(), name); err != nil {
				t.Errorf("remove %q: %v", name, err)
			}
		}
	})
}

func TestWalkShowsWhatIsKept(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		c := p.open(t)
		var several, want []string
		for n := range 20 {
			several, want = append(several, fmt.Sprint(n)), append(want, digest(fmt.Sprint(n)))
		}
		keep(t, c, several...)
		stage(t, c, "on its way")
		if found := walk(t, c, time.Now().Add(-time.Hour)); len(found) != 0 {
			t.Errorf("walked over %q, which are young", found)
		}
		later := time.Now().Add(time.Hour) // by any clock
		found := walk(t, c, later)
		slices.Sort(found)
		slices.Sort(want)
		if !slices.Equal(found, want) {
			t.Errorf("walked over %q, want %q", found, want)
		}
		err := c.Walk(t.Context(), later, func(d string) error {
			if d == digest("7") {
				return nil
			}
			return c.Remove(t.Context(), d)
		})
		if err != nil {
			t.Error(err)
		}
		if found := walk(t, c, later); !slices.Equal(found, []string{digest("7")}) {
			t.Errorf("kept %q", found)
		}
		cause := errors.New("no database")
		if err := c.Walk(t.Context(), later, func(string) error { return cause }); !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	})
}

// A content that another process removes, because nothing refers to it yet, is published again.
func TestPublishedAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		c, other := p.open(t), p.open(t)
		staged := []blob.Staged{stage(t, c, "one"), stage(t, c, "two")}
		for _, removed := range []string{"", "one", "two", "one"} {
			if err := errors.Join(other.Remove(t.Context(), digest(removed)), c.Publish(t.Context(), staged...)); err != nil {
				t.Fatal(err)
			}
			if has, err := other.Has(t.Context(), digest("one"), digest("two")); err != nil || !has {
				t.Errorf("%v, %v", has, err)
			}
		}
		if has, err := other.Has(t.Context(), digest("one"), digest("none")); err != nil || has {
			t.Errorf("%v, %v", has, err)
		}
		if has, err := other.Has(t.Context(), "../one"); err != nil || has {
			t.Errorf("%v, %v", has, err)
		}
		for _, s := range staged {
			if err := s.Discard(); err != nil {
				t.Error(err)
			}
		}
		if got := read(t, other, digest("one")) + read(t, other, digest("two")); got != "onetwo" {
			t.Errorf("%q", got)
		}
		wantStaged(t, p, 0)
	})
}

// Contents of one archive are not swept by another.
func TestContentsBelongToOneArchive(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if err := p.open(t).Claimed(t.Context(), "mine"); !errors.Is(err, blob.ErrUnclaimed) || !strings.Contains(err.Error(), "archive-id in the bucket") &&
			!strings.Contains(err.Error(), "make the file /") || !strings.Contains(err.Error(), " with the text mine,") {
			t.Errorf("got %v", err)
		}
		for range 2 {
			if err := p.open(t).Claim(t.Context(), "mine"); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.open(t).Claimed(t.Context(), "mine"); err != nil {
			t.Error(err)
		}
		if err := p.open(t).Claimed(t.Context(), "other"); !errors.Is(err, blob.ErrForeign) {
			t.Errorf("got %v", err)
		}
		if err := p.open(t).Claim(t.Context(), "other"); !errors.Is(err, blob.ErrForeign) {
			t.Errorf("got %v", err)
		}
		c := p.open(t)
		keep(t, c, "content")
		if found := walk(t, c, time.Now().Add(time.Hour)); !slices.Equal(found, []string{digest("content")}) {
			t.Errorf("walked over %q", found)
		}
	})
}

func TestTheSameContentAtTheSameTime(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		c := p.open(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				staged, err := c.Stage(t.Context(), strings.NewReader("same"))
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(c.Publish(t.Context(), staged), staged.Discard()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := read(t, c, digest("same")); got != "same" {
			t.Errorf("%q", got)
		}
	})
}
