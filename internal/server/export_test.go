package server

import (
	"context"
	"time"
)

// EachContent calls each for every content that is kept.
func (s *Server) EachContent(ctx context.Context, each func(digest string) error) error {
	return s.vault.Walk(ctx, time.Now().Add(time.Hour), each)
}

// SetContents has contents kept elsewhere from now on.
func (s *Server) SetContents(c contents) { s.vault.contents = c }
