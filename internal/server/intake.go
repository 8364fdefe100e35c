package server

import (
	"context"
	"io"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

// receipt is a content that was received and looked at, and is not yet kept.
type receipt struct {
	blob.Staged
	name string // of the file it came as
	inspect.Result
}

// intake takes contents into the archive.
type intake struct {
	vault    *vault
	workers  *workers // of the pages of PDFs
	activity *activity
	most     int64 // bytes of a content
}

// receive stages a content and looks at it. The name and the content type that the
// client gave help to tell kinds of text apart.
func (in *intake) receive(ctx context.Context, who turns.Party, content io.Reader, name, contentType string) (receipt, error) {
	staged, err := in.vault.Stage(ctx, content)
	if err != nil {
		return receipt{}, err
	}
	result := inspect.Content(staged, staged.Size(), inspect.Hint{Name: name, ContentType: contentType})
	if result.Uncounted {
		result.Pages = in.countPages(ctx, who, staged)
	}
	return receipt{Staged: staged, name: name, Result: result}, nil
}

const (
	// countTime is how long an upload waits for the pages of a PDF to be counted.
	countTime = 10 * time.Second
	// maxCounted is the largest PDF that is counted so, in bytes.
	maxCounted = 64 << 20
)

// countPages has the pages of a PDF counted by poppler, which repairs damaged ones and reads
// those that need no password. There is one where it cannot.
func (in *intake) countPages(ctx context.Context, who turns.Party, staged blob.Staged) int {
	if staged.Size() > maxCounted {
		return 1
	}
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	pages := 1
	if err := in.workers.do(ctx, who, func() (err error) {
		pages, err = poppler.Pages(ctx, io.NewSectionReader(staged, 0, staged.Size()))
		return err
	}); err != nil {
		return 1
	}
	return min(pages, inspect.MaxPages)
}

// staged is the content alone, as the vault takes it.
func (r receipt) staged() []blob.Staged { return []blob.Staged{r.Staged} }

// describe fills in what the content tells of its document.
func (r receipt) describe(d store.Document) store.Document {
	d.Digest, d.Size, d.ContentType, d.Pages = r.Digest(), r.Size(), r.ContentType, r.Pages
	return d
}

// discard drops contents unless they were kept.
func (in *intake) discard(received ...receipt) {
	for _, r := range received {
		in.vault.leftover(r.Discard())
	}
}

// keep makes contents durable and then adds their documents in one transaction.
func (in *intake) keep(ctx context.Context, c catalog.Changes, received []receipt, documents []store.Document, reuse bool) (ids []archive.ID, err error) {
	defer in.activity.change()
	defer in.activity.begin()()
	staged := make([]blob.Staged, 0, len(received))
	for _, r := range received {
		staged = append(staged, r.Staged)
	}
	err = in.vault.keep(ctx, staged, func(ctx context.Context) error {
		ids, err = c.AddDocuments(ctx, documents, reuse)
		return err
	})
	return ids, err
}
