package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sirupsen/logrus"
	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/render"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

// renderer makes PDFs, pictures and texts of contents, and keeps those that take long to make.
type renderer struct {
	vault    *vault
	known    *store.Uses
	workers  *workers
	attempts attempts
	underWay singleflight.Group // the making of PDFs
	warn     sync.Once          // that a program is not installed
	log      logrus.FieldLogger
}

// withPDF calls use with the digest of a document's PDF. A document that is no PDF is rendered once and
// the rendition kept, so that length and ETag do not change. A missing rendition is made again.
func (m *renderer) withPDF(ctx context.Context, who turns.Party, d store.Document, use func(digest string) error) error {
	if d.ContentType == inspect.PDF {
		return use(d.Digest)
	}
	variants := render.Variants(sourceOf(d))
	if m.attempts.vain(attempt{d.Digest, wholePDF}, 0) {
		variants = append(variants, render.Cover(sourceOf(d)))
	}
	for _, variant := range variants {
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

// errReplaced: the content of the document has just changed.
var errReplaced = refusal.New(archive.KindBusy, "the document was replaced just now; try again")

// lostOf adds the document to the error of a lost content. If the document was replaced or removed
// the content is not lost; other errors are returned unchanged.
func lostOf(ctx context.Context, c catalog.Documents, d store.Document, err error) error {
	e := lost(err)
	if e == nil {
		return err
	}
	now, failed := c.Document(ctx, d.ID)
	switch {
	case failed != nil:
		return failed
	case now.Digest != d.Digest:
		return errReplaced
	}
	return &lostContent{document: d.ID, digest: e.digest, err: err}
}

// gone reports whether a stored rendition is missing, and logs it: the rendition can be made again, but
// other files may be missing, too.
func (m *renderer) gone(d store.Document, digest string, err error) bool {
	if e := lost(err); e == nil || e.digest != digest || digest == d.Digest {
		return false
	}
	m.log.WithFields(logrus.Fields{"document": int64(d.ID), "content": digest}).
		Warn("a rendition is missing and is made again; archivefs admin verify shows what else is missing")
	return true
}

// rendition renders the PDF of a document and returns its digest. A client that leaves does not
// stop a rendering that others may wait for.
func (m *renderer) rendition(ctx context.Context, who turns.Party, d store.Document) (string, error) {
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
func (m *renderer) render(ctx context.Context, who turns.Party, digest string, source render.Source) (made string, err error) {
	var pdf bytes.Buffer
	var variant string
	err = m.rendered(ctx, who, digest, source, func(source render.Source) error {
		variant, err = render.PDF(context.WithoutCancel(ctx), &pdf, source)
		return err
	})
	if err != nil {
		return "", err
	}
	pages := inspect.Content(bytes.NewReader(pdf.Bytes()), int64(pdf.Len()), inspect.Hint{}).Pages
	if !slices.Contains(render.Variants(source), variant) {
		m.attempts.fail(attempt{digest, wholePDF}, 0)
	}
	if made, err = m.keepMade(ctx, digest, variant, &pdf); err == nil && render.LaidOut(variant) {
		err = m.known.SetPages(ctx, digest, pages)
	}
	return made, err
}

func sourceOf(d store.Document) render.Source {
	return render.Source{Name: d.Name, ContentType: d.ContentType, Size: d.Size}
}

// rendered renders a content.
func (m *renderer) rendered(ctx context.Context, who turns.Party, digest string, source render.Source, work func(render.Source) error) error {
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

// keepMade keeps a rendition as long as the content is used, and returns its digest.
func (m *renderer) keepMade(ctx context.Context, digest, variant string, made io.Reader) (string, error) {
	staged, err := m.vault.Stage(ctx, made)
	if err != nil {
		return "", err
	}
	defer func() { m.vault.leftover(staged.Discard()) }()
	err = m.vault.keep(ctx, []blob.Staged{staged}, func(in store.Scope) error {
		return m.known.AddRendition(ctx, in, digest, variant, staged.Digest())
	}, digest)
	if archive.KindOf(err) == archive.KindNotFound { // the document was removed or replaced meanwhile
		return "", errReplaced
	}
	return staged.Digest(), err
}

// preview draws a page: of the content if it is a PDF or a readable picture, else of its PDF. It is
// nil if the page cannot be drawn.
func (m *renderer) preview(ctx context.Context, who turns.Party, d store.Document, page, width, height int) (picture []byte, err error) {
	draw := func(digest string, source render.Source) error {
		this, side := attempt{digest, page}, max(width, height)
		if m.attempts.vain(this, side) {
			return nil
		}
		return m.rendered(ctx, who, digest, source, func(source render.Source) (err error) {
			if m.attempts.vain(this, side) { // while this one waited
				return nil
			}
			picture, err = render.Preview(ctx, source, page, width, height)
			if picture == nil && err == nil {
				m.attempts.fail(this, side)
			}
			return err
		})
	}
	source := sourceOf(d)
	if render.Pictured(source) {
		if err := draw(d.Digest, source); picture != nil || err != nil || d.ContentType == inspect.PDF {
			return picture, err
		}
	}
	err = m.withPDF(ctx, who, d, func(digest string) error { return draw(digest, render.Source{ContentType: inspect.PDF}) })
	return picture, err
}

// unmade returns the error for a preview or a text that cannot be made. It reports a missing
// program, which the operator can install.
func (m *renderer) unmade(err error) error {
	missing, is := errors.AsType[*engine.MissingError](err)
	if !is {
		return err
	}
	m.warn.Do(func() {
		m.log.WithError(missing).Warn("some previews and texts need a program; archivefs doctor --embedded says what is missing")
	})
	return refusal.Blame("id", refusal.New(archive.KindNotFound, "there is no preview or text of the document: %v", missing))
}

// textPages returns the text of each page of a document.
func (m *renderer) textPages(ctx context.Context, r *request, d store.Document) ([][]byte, error) {
	text, err := m.text(ctx, r.who.party(), d)
	if err != nil {
		return nil, m.unmade(lostOf(ctx, r.catalog, d, err))
	}
	if text == nil {
		if err := engine.Need("tesseract"); err != nil && render.Scanned(sourceOf(d), nil) {
			return nil, m.unmade(err)
		}
		return nil, refusal.Blame("id", refusal.New(archive.KindNotFound, "no text is known of document %d", d.ID))
	}
	pages := bytes.SplitN(text, []byte(pageEnd), max(1, d.Pages))
	last := len(pages) - 1
	pages[last] = bytes.ReplaceAll(pages[last], []byte(pageEnd), []byte("\n"))
	for len(pages) < d.Pages {
		pages = append(pages, nil)
	}
	return pages, nil
}

// text returns the text of a document, nil if it has none. A text that takes long to extract is
// kept beside the content.
func (m *renderer) text(ctx context.Context, who turns.Party, d store.Document) (text []byte, err error) {
	source := sourceOf(d)
	variant := render.TextVariant(source)
	for _, variant := range []string{render.Recognised, variant} {
		digest, err := m.known.Rendition(ctx, d.Digest, variant)
		if err != nil {
			return nil, err
		}
		if digest != "" {
			if text, err := m.keptText(ctx, digest); !m.gone(d, digest, err) {
				return text, err
			}
		}
	}
	this := attempt{d.Digest, allText}
	if m.attempts.vain(this, 0) {
		return nil, nil
	}
	err = m.rendered(ctx, who, d.Digest, source, func(source render.Source) error {
		text, err = render.Text(ctx, source)
		return err
	})
	switch {
	case errors.Is(err, engine.ErrTooSlow):
		m.attempts.fail(this, 0)
		return nil, nil
	case errors.Is(err, engine.ErrUnreadable):
		err = nil // it may have a part of the text
	}
	if err != nil || variant == "" {
		return text, err
	}
	_, err = m.keepMade(context.WithoutCancel(ctx), d.Digest, variant, bytes.NewReader(text))
	if err != nil {
		m.log.WithError(err).WithField("document", int64(d.ID)).Warn("the text of a document is not kept, and is found out again")
	}
	return text, nil
}

// keptText reads a kept text. An empty one means that there is none.
func (m *renderer) keptText(ctx context.Context, digest string) ([]byte, error) {
	content, err := m.vault.Open(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	text, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("read text: %w", err)
	}
	if len(text) == 0 {
		return nil, nil
	}
	return text, nil
}

const (
	// failedFor is how long a failed rendering is not tried again. A busy machine may manage it later.
	failedFor = 10 * time.Minute
	// failuresKept is how many failures are remembered.
	failuresKept = 4096
)

// attempt is a rendering of a content: a page as a picture, from 0 on, its text or its PDF.
type attempt struct {
	digest string
	page   int
}

// Pages that stand for the text, for a text extracted during a search, and for the PDF.
const (
	allText      = -1
	searchedText = -2
	wholePDF     = -3
)

// attempts remembers failed renderings, so that nobody waits for them again and they occupy no worker.
type attempts struct{ failed *lru.Cache[attempt, failure] }

// failure is when an attempt failed, and the longest side of the picture in pixels. A smaller
// picture needs less memory and may succeed.
type failure struct {
	at   time.Time
	side int
}

func newAttempts() attempts {
	failed, _ := lru.New[attempt, failure](failuresKept) // fails only for a size below 1
	return attempts{failed}
}

// vain reports whether an attempt would fail again.
func (a attempts) vain(what attempt, side int) bool {
	failed, known := a.failed.Get(what)
	return known && side >= failed.side && time.Since(failed.at) < failedFor
}

// fail records a failed attempt.
func (a attempts) fail(what attempt, side int) {
	if failed, known := a.failed.Get(what); known && time.Since(failed.at) < failedFor {
		side = min(side, failed.side)
	}
	a.failed.Add(what, failure{time.Now(), side})
}

const (
	// maxAtWork bounds the expensive jobs at a time: each holds images in memory, or runs a
	// process. One party may have two places, so that others get one.
	maxAtWork = 3
	// maxInLine is how many jobs of one party wait.
	maxInLine = 64
	// atWorkPatience is how much longer than a request a job waits for a place.
	atWorkPatience = 3
)

// workers run expensive jobs, in turn.
type workers struct {
	*turns.Places
	patience time.Duration
}

func newWorkers() *workers {
	few := turns.New(maxAtWork)
	few.Portion, few.Line = 1, maxInLine
	return &workers{Places: few, patience: atWorkPatience * patience}
}

// do runs a job for a party. It is refused after too long a wait, or if too many of the party wait.
func (w *workers) do(ctx context.Context, who turns.Party, work func() error) error {
	if !w.Take(ctx, who, w.patience) {
		if err := ctx.Err(); err != nil {
			return err
		}
		return sentAway("previews, texts and PDFs")
	}
	defer w.Leave(who)
	return work()
}
