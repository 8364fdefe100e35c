package server

import (
	"context"
	"io"
	"time"

	"github.com/archivefs/archivefs/internal/server/blob"
)

// EachContent calls each for every content that is kept.
func (s *Server) EachContent(ctx context.Context, each func(digest string) error) error {
	return s.vault.Walk(ctx, time.Now().Add(time.Hour), each)
}

// StopBackground ends the work on the index, which reads contents, and writes and logs, while nothing
// is asked for a second.
func (s *Server) StopBackground() { s.stopBackground() }

// SetContents has contents kept elsewhere from now on. Nothing reads them but who asks.
func (s *Server) SetContents(c contents) {
	s.stopBackground()
	s.vault.contents = c
}

// LoseContent removes a content whatever refers to it.
func (s *Server) LoseContent(ctx context.Context, digest string) error {
	return s.vault.Remove(ctx, digest)
}

// SetPatience has requests wait so long for their turn.
func (s *Server) SetPatience(d time.Duration) {
	s.front.patience, s.renderer.workers.patience = d, atWorkPatience*d
}

// spoiled are contents of which some are not as they were.
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

// SpoilContents has open asked for contents first, until restore is called. It returns nil for one that is as
// it was.
func (s *Server) SpoilContents(open func(digest string) (io.ReadSeekCloser, error)) (restore func()) {
	whole := s.vault.contents
	s.SetContents(spoiled{whole, open})
	return func() { s.vault.contents = whole }
}
