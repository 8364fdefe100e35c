// Package pictures puts thumbnails of documents into the user's thumbnail cache before a file manager
// asks for them: from the service's previews of their first pages, so that no document is downloaded.
package pictures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // previews are JPEGs; a service may send PNGs
	_ "image/png"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/thumbnail"
)

const (
	// Most bounds the documents of a folder that get a thumbnail.
	Most = 100
	// atOnce is how many of them are worked on at a time.
	atOnce = 4
	// again is how long after a folder was worked on its thumbnails are looked for once more: a file
	// manager whose thumbnailer was refused removes them (Thunar 4.18).
	again = 3 * time.Second
	// lackingFor is for how long a service that has no previews is not asked for them.
	lackingFor = 10 * time.Minute
	// maxTried bounds the documents that are remembered.
	maxTried = 4096
	// mostTimes is how often the thumbnail of a document is made: somebody who removes it that often does
	// not want it (Thunar 4.18, of types that it has no thumbnailer for).
	mostTimes = 3
	// patience is how long a thumbnailer waits, at most, for the thumbnails of the folder that is shown.
	patience = 20 * time.Second
	// maxBytes and maxPixels bound a preview.
	maxBytes, maxPixels = 8 << 20, 32 << 20
)

// Service is what is asked of the service: the pages of a document, and the preview of a page.
type Service interface {
	Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error)
	Content(ctx context.Context, req archive.ContentRequest) (*archive.Content, error)
}

// Document is a document as a folder shows it.
type Document struct {
	ID       archive.ID
	Path     string    // absolute
	Modified time.Time // the file's modification time
}

// Maker makes thumbnails. It works for the folder that was shown last: a person has left the others. A nil
// Maker makes none.
type Maker struct {
	ctx     context.Context // ends the work
	service Service
	cache   thumbnail.Cache
	run     func(func())
	now     func() time.Time
	log     logrus.FieldLogger
	again   time.Duration // as the constant, but for tests
	// tried are documents, and how often they got a thumbnail. One that got none counts as one that got
	// it mostTimes, so that a document without a preview costs its requests once.
	tried *lru.Cache[Document, int]

	// shown holds a token when there is something new.
	shown chan struct{}

	mu sync.Mutex
	// last is what was shown last, next the same until it is worked on; nil for nothing.
	last, next *visit // +checklocks:mu
	// busy says that a goroutine works on what is next.
	busy bool // +checklocks:mu
	// lacking is until when the service counts as one without previews.
	lacking time.Time // +checklocks:mu
	// missed counts the pages without a preview, until one has some: then the service has previews.
	missed int // +checklocks:mu
	found  atomic.Bool
}

// visit is a folder that a file manager shows.
type visit struct {
	docs []Document
	// written is told the names of documents that got a thumbnail, all at once.
	written func(names []string)
	// done is closed when all of them were tried once, or the folder was left.
	done chan struct{}
}

// New makes a Maker for the user of this process. run runs its work in the background, until ctx ends. The
// error says why the user has no cache of thumbnails.
func New(ctx context.Context, service Service, run func(func()), now func() time.Time, log logrus.FieldLogger) (*Maker, error) {
	cache, err := thumbnail.Open("archivefs")
	if err != nil {
		return nil, err
	}
	tried, err := lru.New[Document, int](maxTried)
	return &Maker{
		again: again, ctx: ctx, service: service, cache: cache, run: run, now: now, log: log, tried: tried, shown: make(chan struct{}, 1),
	}, err
}

// Wants reports whether Show would make use of documents now.
func (m *Maker) Wants() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.now().Before(m.lacking)
}

// Show makes thumbnails of the first documents of a folder, unless they have some, and calls written with
// the names of those that got one. It does not wait.
func (m *Maker) Show(docs []Document, written func(names []string)) {
	docs = docs[:min(len(docs), Most)]
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next != nil { // it is left before its turn
		close(m.next.done)
	}
	m.next = nil
	select {
	case m.shown <- struct{}{}:
	default:
	}
	if len(docs) == 0 {
		return
	}
	m.next = &visit{docs: docs, written: written, done: make(chan struct{})}
	m.last = m.next
	if !m.busy {
		m.busy = true
		m.run(m.work)
	}
}

// Await waits for the thumbnails of the folder that is shown, if the document is in it. A thumbnailer that
// is refused one document after the other meanwhile leaves icons: file managers look for the next
// thumbnail when one was refused, and some remember those that were.
func (m *Maker) Await(ctx context.Context, doc archive.ID) {
	v := m.showing(doc)
	if v == nil {
		return
	}
	select {
	case <-v.done:
	case <-time.After(patience):
	case <-ctx.Done():
	case <-m.ctx.Done():
	}
}

// showing returns what was shown last, if the document is in it.
func (m *Maker) showing(doc archive.ID) *visit {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil || !slices.ContainsFunc(m.last.docs, func(d Document) bool { return d.ID == doc }) {
		return nil
	}
	return m.last
}

// Has reports whether there is a thumbnail of the document at an absolute path, made by any mount.
func (m *Maker) Has(path string) bool { return m != nil && m.cache.Made(thumbnail.URI(path)) }

// Remove removes the thumbnails of the document at an absolute path that mounts have made.
func (m *Maker) Remove(path string) {
	if m == nil {
		return
	}
	if err := m.cache.Remove(thumbnail.URI(path)); err != nil {
		m.log.Warnf("remove a thumbnail: %v", err)
	}
}

// work makes what is next until there is nothing new.
func (m *Maker) work() {
	for {
		m.mu.Lock()
		v := m.next
		m.next = nil
		m.busy = v != nil
		m.mu.Unlock()
		if v == nil {
			return
		}
		err := m.folder(v)
		close(v.done)
		if err == nil && m.rest() {
			err = m.folder(v)
		}
		if err != nil {
			m.log.Debugf("thumbnails: %v", err)
		}
	}
}

// rest waits before thumbnails are looked for once more, and reports whether nothing new came meanwhile.
func (m *Maker) rest() bool {
	select {
	case <-m.shown: // of what was worked on
	default:
	}
	if m.left() {
		return false
	}
	select {
	case <-time.After(m.again):
		return true
	case <-m.shown:
	case <-m.ctx.Done():
	}
	return false
}

// errLeft ends the work on a folder because another one is shown.
var errLeft = errors.New("another folder is shown")

// folder makes the thumbnails of a folder, and tells which it made.
func (m *Maker) folder(v *visit) error {
	made := make([]bool, len(v.docs))
	err := m.each(v.docs, made)
	var names []string
	for i, doc := range v.docs {
		if made[i] {
			names = append(names, filepath.Base(doc.Path))
		}
	}
	if len(names) > 0 {
		v.written(names)
	}
	return err
}

// each makes a thumbnail of each document, until another folder is shown, or the service cannot be asked.
func (m *Maker) each(docs []Document, made []bool) error {
	group, ctx := errgroup.WithContext(m.ctx)
	group.SetLimit(atOnce)
	for i, doc := range docs {
		switch {
		case ctx.Err() != nil:
			return group.Wait()
		case m.left():
			return errors.Join(errLeft, group.Wait())
		case m.times(doc) >= mostTimes, m.cache.Has(thumbnail.URI(doc.Path), doc.Modified):
			continue
		}
		group.Go(func() (err error) {
			made[i], err = m.try(ctx, doc)
			return err
		})
	}
	return group.Wait()
}

// try makes a thumbnail, and reports whether it could. An error says that there is no point in going on with others.
func (m *Maker) try(ctx context.Context, doc Document) (made bool, err error) {
	if err := ctx.Err(); err != nil { // while it waited for its turn
		return false, err
	}
	err = m.make(ctx, doc)
	switch kind := archive.KindOf(err); {
	case m.lacks(err), archive.Away(err), kind == archive.KindUnauthorized, ctx.Err() != nil:
		return err == nil, err
	case err != nil:
		m.log.Debugf("thumbnail of document %s: %v", doc.ID, err)
		m.tried.Add(doc, mostTimes)
		return false, nil
	}
	m.tried.Add(doc, m.times(doc)+1)
	return true, nil
}

// times returns how often a document got a thumbnail.
func (m *Maker) times(doc Document) int {
	n, _ := m.tried.Get(doc) // 0 for none
	return n
}

func (m *Maker) left() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next != nil
}

// errNoPreview says that the service did not find the preview of a page of a document that it has.
var errNoPreview = errors.New("there is no preview")

// missedPages is how many pages without a preview tell that the service has none. One may be broken.
const missedPages = 2

// lacks takes note of the outcome of an attempt, and reports whether it tells that the service has no previews.
func (m *Maker) lacks(err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	no := archive.KindOf(err) == archive.KindUnsupported
	if errors.Is(err, errNoPreview) {
		m.missed++
		no = no || !m.found.Load() && m.missed >= missedPages
	}
	if no {
		m.lacking, m.missed = m.now().Add(lackingFor), 0
	}
	return no
}

// errNoPage says that a document has no page to be shown.
var errNoPage = errors.New("it has no page")

func (m *Maker) make(ctx context.Context, doc Document) error {
	data, err := m.service.Data(ctx, doc.ID)
	if err != nil {
		return err
	}
	if len(data.Pages) == 0 || data.Pages[0].ID == 0 {
		return errNoPage
	}
	content, err := m.service.Content(ctx, archive.ContentRequest{
		Document: data.Pages[0].ID, Representation: archive.Preview, Box: thumbnail.Largest,
	})
	if archive.KindOf(err) == archive.KindNotFound {
		err = fmt.Errorf("%w: %w", errNoPreview, err)
	}
	if err != nil {
		return err
	}
	m.found.Store(true)
	picture, err := decode(content.Body)
	if err = errors.Join(err, content.Body.Close()); err != nil {
		return err
	}
	return m.cache.Put(thumbnail.URI(doc.Path), doc.Modified, picture)
}

// decode reads a picture of a bounded size.
func decode(r io.Reader) (image.Image, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxBytes {
		return nil, fmt.Errorf("the preview is larger than %d bytes", maxBytes)
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("the preview is no picture: %w", err)
	}
	if size.Width*size.Height > maxPixels {
		return nil, fmt.Errorf("the preview has %d x %d pixels", size.Width, size.Height)
	}
	picture, _, err := image.Decode(bytes.NewReader(b))
	return picture, err
}
