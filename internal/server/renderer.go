package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sirupsen/logrus"
	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/render"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
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
func (m *renderer) withPDF(ctx context.Context, who turns.Party, d store.Document, use func(digest string) error) error {
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

// errReplaced says that a document has another content than a moment ago.
var errReplaced = refusal.New(archive.KindBusy, "the document was replaced just now; try again")

// lostOf adds to the error of a lost content whose that is. One that was removed because its document
// was replaced, or removed, is none; other errors pass.
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

// preview draws a page, of the content where it is a PDF or a picture that can be read, else
// of its PDF. It is nil when it cannot be drawn.
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

// unmade is the answer to an error of a preview or a text. That a program is missing is told:
// the operator can install it.
func (m *renderer) unmade(err error) error {
	if !errors.Is(err, poppler.ErrMissing) {
		return err
	}
	m.warn.Do(func() { m.log.WithError(err).Warn("no previews of PDFs and no text of them: install poppler-utils") })
	return refusal.Blame("id", refusal.New(archive.KindNotFound, "there are no previews of PDFs and no text of them here: poppler-utils is not installed"))
}

// textPages returns the text of each page of a document.
func (m *renderer) textPages(ctx context.Context, r *request, d store.Document) ([][]byte, error) {
	text, err := m.text(ctx, r.who.party(), d)
	if err != nil {
		return nil, m.unmade(lostOf(ctx, r.catalog, d, err))
	}
	if text == nil {
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

// text returns the text of a document, nil when none is known. What takes long to find out is
// kept beside the content.
func (m *renderer) text(ctx context.Context, who turns.Party, d store.Document) (text []byte, err error) {
	source := sourceOf(d)
	variant := render.TextVariant(source)
	if variant != "" {
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
	if errors.Is(err, poppler.ErrTooSlow) {
		m.attempts.fail(this, 0)
		return nil, nil
	}
	if err != nil || variant == "" {
		return text, err
	}
	_, err = m.keepMade(context.WithoutCancel(ctx), d.Digest, variant, bytes.NewReader(text))
	if err != nil && archive.KindOf(err) != archive.KindForbidden { // an archive that is generated keeps nothing
		m.log.WithError(err).WithField("document", int64(d.ID)).Warn("the text of a document is not kept, and is found out again")
	}
	return text, nil
}

// keptText reads a text; that nothing is known is kept as an empty one.
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
	// failedFor is how long what could not be made of a content is not tried again. A machine that was
	// busy may manage it later.
	failedFor = 10 * time.Minute
	// failuresKept is how many failures are remembered.
	failuresKept = 4096
)

// attempt is something that is made of a content: a page of it as a picture, counted from 0, or its text.
type attempt struct {
	digest string
	page   int
}

// The pages of attempts to find out a text, the second one while a search is answered.
const (
	allText      = -1
	searchedText = -2
)

// attempts remembers what could not be made of contents, so that nobody waits for it once more, and it
// takes nobody's place.
type attempts struct {
	failed *lru.Cache[attempt, failure]
}

// failure is when an attempt failed, and the longest side of the picture in pixels. A smaller one takes
// less, and may succeed.
type failure struct {
	at   time.Time
	side int
}

func newAttempts() attempts {
	failed, _ := lru.New[attempt, failure](failuresKept) // the size is a constant that is right
	return attempts{failed}
}

// vain reports whether an attempt would fail.
func (a attempts) vain(what attempt, side int) bool {
	failed, known := a.failed.Get(what)
	return known && side >= failed.side && time.Since(failed.at) < failedFor
}

// fail remembers that an attempt has failed.
func (a attempts) fail(what attempt, side int) {
	if failed, known := a.failed.Get(what); known && time.Since(failed.at) < failedFor {
		side = min(side, failed.side)
	}
	a.failed.Add(what, failure{time.Now(), side})
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

// workers do what takes much of the machine, in turn.
type workers struct {
	*turns.Places
	patience time.Duration
}

func newWorkers() *workers {
	few := turns.New(maxAtWork)
	few.Portion, few.Line = 1, maxInLine
	return &workers{Places: few, patience: atWorkPatience * patience}
}

// do does some work for somebody. Who waits too long, or for too much, is sent away.
func (w *workers) do(ctx context.Context, who turns.Party, work func() error) error {
	if !w.Take(ctx, who, w.patience) {
		if err := ctx.Err(); err != nil {
			return err
		}
		return sentAway("previews, texts and PDFs of other documents")
	}
	defer w.Leave(who)
	return work()
}
