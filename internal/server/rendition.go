package server

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/render"
	"github.com/archivefs/archivefs/internal/server/store"
)

// withPDF does something with the digest of a document's PDF. What is no PDF is rendered once and
// kept, so that length and entity tag do not change. One that is not where it is kept is made again.
func (s *Server) withPDF(ctx context.Context, who party, d store.Document, use func(digest string) error) error {
	if d.ContentType == inspect.PDF {
		return use(d.Digest)
	}
	for _, variant := range render.Variants(sourceOf(d)) {
		digest, err := s.db.Rendition(ctx, d.Digest, variant)
		if err != nil {
			return err
		}
		if digest == "" {
			continue
		}
		if err := use(digest); !s.gone(d, digest, err) {
			return err
		}
		break
	}
	digest, err := s.rendition(ctx, who, d)
	if err != nil {
		return err
	}
	return use(digest)
}

// gone reports whether something that was made of a document's content is not where it is kept. It
// can be made again, but what took it away may have taken more.
func (s *Server) gone(d store.Document, digest string, err error) bool {
	if e := lost(err); e == nil || e.digest != digest || digest == d.Digest {
		return false
	}
	s.log.WithFields(logrus.Fields{"document": int64(d.ID), "content": digest}).
		Warn("what was made of a document is missing, and is made again; archivefs admin verify shows what else is missing")
	return true
}

// rendition makes the PDF of a document and returns its digest. A client that gives up does not
// stop a rendering that others may wait for.
func (s *Server) rendition(ctx context.Context, who party, d store.Document) (string, error) {
	made, err, _ := s.rendering.Do(d.Digest+" "+d.ContentType+" "+d.Name, func() (any, error) {
		return s.render(context.WithoutCancel(ctx), who, d.Digest, sourceOf(d))
	})
	if err != nil {
		return "", fmt.Errorf("render document %d: %w", d.ID, err)
	}
	digest, _ := made.(string)
	return digest, nil
}

// render makes a PDF and keeps it.
func (s *Server) render(ctx context.Context, who party, digest string, source render.Source) (made string, err error) {
	var pdf bytes.Buffer
	var variant string
	err = s.rendered(ctx, who, digest, source, func(source render.Source) error {
		variant, err = render.PDF(&pdf, source)
		return err
	})
	if err != nil {
		return "", err
	}
	return s.keepMade(ctx, digest, variant, &pdf)
}

func sourceOf(d store.Document) render.Source {
	return render.Source{Name: d.Name, ContentType: d.ContentType, Size: d.Size}
}

// rendered has something made of a content.
func (s *Server) rendered(ctx context.Context, who party, digest string, source render.Source, work func(render.Source) error) error {
	return s.atWork(ctx, who, func() error {
		content, err := s.vault.Open(ctx, digest)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }()
		source.Content = content
		return work(source)
	})
}

const (
	// maxAtWork is how many do at a time what takes much of the machine: each holds images in memory, or
	// has a process at work. One party has two places, and leaves one to others.
	maxAtWork = 3
	// maxInLine is how many of one party wait for one.
	maxInLine = 64
	// atWorkPatience is for how much longer than for others such a place is waited for.
	atWorkPatience = 3
)

// atWork does what takes much of the machine, in turn. Who waits too long, or for too much, is sent away.
func (s *Server) atWork(ctx context.Context, who party, work func() error) error {
	if !s.workers.take(ctx, who, atWorkPatience*s.patience) {
		if err := ctx.Err(); err != nil {
			return err
		}
		return sentAway("previews, texts and PDFs of other documents")
	}
	defer s.workers.leave(who)
	return work()
}

// keepMade keeps what was made of a content as long as that is used, and returns its digest.
func (s *Server) keepMade(ctx context.Context, digest, variant string, made io.Reader) (string, error) {
	staged, err := s.vault.Stage(ctx, made)
	if err != nil {
		return "", err
	}
	defer func() { s.leftover(staged.Discard()) }()
	err = s.vault.keep(ctx, []blob.Staged{staged}, func(ctx context.Context) error {
		return s.db.AddRendition(ctx, digest, variant, staged.Digest())
	}, digest)
	if archive.KindOf(err) == archive.KindNotFound { // the document was removed, or has another content by now
		return "", errReplaced
	}
	return staged.Digest(), err
}
