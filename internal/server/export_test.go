package server

import (
	"context"
	"io"
	"time"

	"github.com/archivefs/archivefs/internal/server/blob"
)

// EachContent calls each for every stored content.
func (s *Server) EachContent(ctx context.Context, each func(digest string) error) error {
	if files, ok := s.vault.contents.(*blob.Files); ok { // those of the journal have no files
		if err := files.Scrub(ctx); err != nil {
			return err
		}
	}
	return s.vault.Walk(ctx, time.Now().Add(time.Hour), each)
}

// StopBackground ends the indexer, which reads contents, writes and logs when the service is idle for
// a second.
func (s *Server) StopBackground() { s.stopBackground() }

// SetContents replaces the storage of contents. Only requests read them.
func (s *Server) SetContents(c contents) {
	s.stopBackground()
	s.vault.contents = c
}

// LoseContent removes a content even if it is used.
func (s *Server) LoseContent(ctx context.Context, digest string) error {
	return s.vault.Remove(ctx, digest)
}

// SetPatience sets how long requests wait for their turn.
func (s *Server) SetPatience(d time.Duration) {
	s.front.patience, s.renderer.workers.patience = d, atWorkPatience*d
}

// spoiled are contents of which some are changed.
type spoiled struct {
	contents
	open func(digest string) (io.ReadSeekCloser, error)
}

// OpenPart implements contents.
func (s spoiled) OpenPart(ctx context.Context, digest string, part blob.Part) (io.ReadSeekCloser, error) {
	if content, err := s.open(digest); content != nil || err != nil {
		return content, err
	}
	return s.contents.OpenPart(ctx, digest, part)
}

// SpoilContents has open called for contents first, until restore is called. open returns nil for an unchanged
// content.
func (s *Server) SpoilContents(open func(digest string) (io.ReadSeekCloser, error)) (restore func()) {
	whole := s.vault.contents
	s.SetContents(spoiled{whole, open})
	return func() { s.vault.contents = whole }
}
