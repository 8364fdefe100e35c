package server

import (
	"bytes"
	"context"
	"fmt"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/render"
	"github.com/archivefs/archivefs/internal/server/store"
)

// rendition returns the digest of a document's PDF. What is no PDF is rendered once and
// kept, so that length and entity tag do not change. A client that gives up does not
// stop a rendering that others may wait for.
func (s *Server) rendition(ctx context.Context, d store.Document) (string, error) {
	if d.ContentType == inspect.PDF {
		return d.Digest, nil
	}
	source := render.Source{Name: d.Name, ContentType: d.ContentType, Size: d.Size}
	for _, variant := range render.Variants(source) {
		digest, err := s.db.Rendition(ctx, d.Digest, variant)
		if err != nil || digest != "" {
			return digest, err
		}
	}
	made, err, _ := s.rendering.Do(d.Digest+" "+d.ContentType+" "+d.Name, func() (any, error) {
		return s.render(context.WithoutCancel(ctx), d.Digest, source)
	})
	if err != nil {
		return "", fmt.Errorf("render document %d: %w", d.ID, err)
	}
	digest, _ := made.(string)
	return digest, nil
}

// render makes a PDF, a few at a time: each holds its images in memory.
func (s *Server) render(ctx context.Context, digest string, source render.Source) (made string, err error) {
	s.renderers <- struct{}{}
	defer func() { <-s.renderers }()
	content, err := s.vault.Open(ctx, digest)
	if err != nil {
		return "", err
	}
	defer func() { _ = content.Close() }()
	source.Content = content
	var pdf bytes.Buffer
	variant, err := render.PDF(&pdf, source)
	if err != nil {
		return "", err
	}
	staged, err := s.vault.Stage(ctx, &pdf)
	if err != nil {
		return "", err
	}
	defer func() { s.leftover(staged.Discard()) }()
	err = s.vault.keep(ctx, []blob.Staged{staged}, func(ctx context.Context) error {
		return s.db.AddRendition(ctx, digest, variant, staged.Digest())
	}, digest)
	if archive.KindOf(err) == archive.KindNotFound { // the document was removed, or has another content by now
		return "", fmt.Errorf("content %s: %w", digest, blob.ErrMissing)
	}
	return staged.Digest(), err
}
