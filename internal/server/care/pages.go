package care

import (
	"context"
	"fmt"
	"io"

	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/store"
)

// pages compares the number of pages of a PDF or a TIFF with that of its documents, which an older version may
// have counted. Contents of a bucket, which are read twice then, are compared only if the number is corrected.
func (v *verifying) pages(ctx context.Context, r store.Reference) error {
	if v.Fast || r.ContentType != inspect.PDF && r.ContentType != inspect.TIFF {
		return nil
	}
	content, err := v.Contents.Open(ctx, r.Digest)
	if err != nil {
		return nil // removed meanwhile
	}
	defer func() { _ = content.Close() }()
	at, is := content.(io.ReaderAt)
	if !is && v.SetPages == nil {
		return nil
	}
	if !is {
		at = sought{content}
	}
	has := inspect.Pages(at, r.Largest, r.ContentType)
	if has == 0 || has == r.Fewest && has == r.Most {
		return nil
	}
	text := fmt.Sprintf("it has %d pages, and documents say %s", has, span(r.Fewest, r.Most))
	if v.SetPages != nil {
		if err := v.SetPages(ctx, r.Digest, has); err != nil {
			return err
		}
		v.mu.Lock()
		v.result.Fixed++
		v.mu.Unlock()
		text += "; corrected"
	}
	return v.about(ctx, Pages, r.Digest, text)
}

// span is a number, or the least and the greatest.
func span[N int | int64](least, greatest N) string {
	if least == greatest {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, greatest)
}

// sought is a content that is read at any place, by one goroutine.
type sought struct{ io.ReadSeeker }

// ReadAt implements io.ReaderAt.
func (s sought) ReadAt(p []byte, off int64) (int, error) {
	if _, err := s.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(s, p)
	if err != nil && n > 0 {
		err = io.EOF
	}
	return n, err
}
