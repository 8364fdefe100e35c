package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/render"
	"github.com/archivefs/archivefs/internal/server/store"
)

// renderer makes PDFs, pictures and texts of contents, and keeps what takes long beside them.
type renderer struct {
	vault    *vault
	known    renditions
	workers  *workers
	attempts attempts
	underWay singleflight.Group // the making of PDFs
	warn     sync.Once          // that poppler-utils is not installed
	log      logrus.FieldLogger
}

// withPDF does something with the digest of a document's PDF. What is no PDF is rendered once and
// kept, so that length and entity tag do not change. One that is not where it is kept is made again.
func (m *renderer) withPDF(ctx context.Context, who party, d store.Document, use func(digest string) error) error {
	if d.ContentType == inspect.PDF {
		return use(d.Digest)
	}
	for _, variant := range render.Variants(sourceOf(d)) {
		digest, err := m.known.Rendition(ctx, d.Digest, variant)
		if err != nil {
			return err
		}
		if digest == "" {
			continue
		}
		if err := use(digest); !m.gone(d, digest, err) {
			return err
		}
		break
	}
	digest, err := m.rendition(ctx, who, d)
	if err != nil {
		return err
	}
	return use(digest)
}

// gone reports whether something that was made of a document's content is not where it is kept. It
// can be made again, but what took it away may have taken more.
func (m *renderer) gone(d store.Document, digest string, err error) bool {
	if e := lost(err); e == nil || e.digest != digest || digest == d.Digest {
		return false
	}
	m.log.WithFields(logrus.Fields{"document": int64(d.ID), "content": digest}).
		Warn("what was made of a document is missing, and is made again; archivefs admin verify shows what else is missing")
	return true
}

// rendition makes the PDF of a document and returns its digest. A client that gives up does not
// stop a rendering that others may wait for.
func (m *renderer) rendition(ctx context.Context, who party, d store.Document) (string, error) {
	made, err, _ := m.underWay.Do(d.Digest+" "+d.ContentType+" "+d.Name, func() (any, error) {
		return m.render(context.WithoutCancel(ctx), who, d.Digest, sourceOf(d))
	})
	if err != nil {
		return "", fmt.Errorf("render document %d: %w", d.ID, err)
	}
	digest, _ := made.(string)
	return digest, nil
}

// render makes a PDF and keeps it.
func (m *renderer) render(ctx context.Context, who party, digest string, source render.Source) (made string, err error) {
	var pdf bytes.Buffer
	var variant string
	err = m.rendered(ctx, who, digest, source, func(source render.Source) error {
		variant, err = render.PDF(&pdf, source)
		return err
	})
	if err != nil {
		return "", err
	}
	return m.keepMade(ctx, digest, variant, &pdf)
}

func sourceOf(d store.Document) render.Source {
	return render.Source{Name: d.Name, ContentType: d.ContentType, Size: d.Size}
}

// rendered has something made of a content.
func (m *renderer) rendered(ctx context.Context, who party, digest string, source render.Source, work func(render.Source) error) error {
	return m.workers.do(ctx, who, func() error {
		content, err := m.vault.Open(ctx, digest)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }()
		source.Content = content
		return work(source)
	})
}

// keepMade keeps what was made of a content as long as that is used, and returns its digest.
func (m *renderer) keepMade(ctx context.Context, digest, variant string, made io.Reader) (string, error) {
	staged, err := m.vault.Stage(ctx, made)
	if err != nil {
		return "", err
	}
	defer func() { m.vault.leftover(staged.Discard()) }()
	err = m.vault.keep(ctx, []blob.Staged{staged}, func(ctx context.Context) error {
		return m.known.AddRendition(ctx, digest, variant, staged.Digest())
	}, digest)
	if archive.KindOf(err) == archive.KindNotFound { // the document was removed, or has another content by now
		return "", errReplaced
	}
	return staged.Digest(), err
}
