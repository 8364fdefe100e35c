package server

import (
	"context"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/store"
)

// receipt is a content that was received and looked at, and is not yet kept.
type receipt struct {
	blob.Staged
	name string // of the file it came as
	inspect.Result
}

// receive stages a content and looks at it. The name and the content type that the
// client gave help to tell kinds of text apart.
func (s *Server) receive(ctx context.Context, content io.Reader, name, contentType string) (receipt, error) {
	staged, err := s.vault.Stage(ctx, content)
	if err != nil {
		return receipt{}, err
	}
	result := inspect.Content(staged, staged.Size(), inspect.Hint{Name: name, ContentType: contentType})
	return receipt{Staged: staged, name: name, Result: result}, nil
}

// discard drops the content unless it was kept.
func (r receipt) discard(log logrus.FieldLogger) {
	if err := r.Discard(); err != nil {
		log.WithError(err).Warn("a staged content stays until the next start")
	}
}

// document fills in what the content tells.
func (r receipt) document() store.Document {
	return store.Document{Digest: r.Digest(), Size: r.Size(), ContentType: r.ContentType, Pages: r.Pages}
}

// keep makes contents durable and then adds their documents in one transaction.
func (s *Server) keep(ctx context.Context, received []receipt, documents []store.Document, reuse bool) (ids []archive.ID, err error) {
	staged := make([]blob.Staged, 0, len(received))
	for _, r := range received {
		staged = append(staged, r.Staged)
	}
	err = s.vault.keep(ctx, staged, func() error {
		ids, err = s.catalog.AddDocuments(ctx, documents, reuse)
		return err
	})
	return ids, err
}
