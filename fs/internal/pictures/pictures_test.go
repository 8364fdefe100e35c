package pictures_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/pictures"
	"github.com/archivefs/archivefs/internal/thumbnail"
)

// service is one whose documents have one page each, with the document's id and a thousand.
type service struct {
	mu    sync.Mutex
	asked map[archive.ID]int // previews and data, by id
	wait  chan struct{}      // holds up previews until it is closed; nil for none
	began chan struct{}      // gets a value for each preview that begins, while there is room
	fail  error              // of each preview
	// removes is called, with the lock, with each request; nil for nothing.
	removes func()
	body    []byte // of each preview
}

const withoutPage = 999

func (s *service) ask(id archive.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[id]++
	if s.removes != nil {
		s.removes()
	}
}

func (s *service) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.asked {
		n += k
	}
	return n
}

func (s *service) Data(_ context.Context, doc archive.ID) (archive.DocumentData, error) {
	s.ask(doc)
	if doc == withoutPage {
		return archive.DocumentData{ID: doc}, nil // without a page
	}
	return archive.DocumentData{ID: doc, Pages: []archive.Page{{ID: doc + 1000}}}, nil
}

func (s *service) Content(ctx context.Context, req archive.ContentRequest) (*archive.Content, error) {
	s.ask(req.Document)
	if req.Representation != archive.Preview || req.Box != thumbnail.Largest {
		return nil, fmt.Errorf("asked for %v of %d pixels", req.Representation, req.Box)
	}
	select {
	case s.began <- struct{}{}:
	default:
	}
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.fail != nil {
		return nil, s.fail
	}
	return &archive.Content{Body: io.NopCloser(bytes.NewReader(s.body))}, nil
}

// setup makes a Maker with a clock and a cache of its own; idle returns when it has nothing to do.
func setup(t *testing.T, s *service) (m *pictures.Maker, cache thumbnail.Cache, clock *time.Time, idle func()) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cache, err := thumbnail.Open("archivefs")
	if err != nil {
		t.Fatal(err)
	}
	if s.body == nil {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 18, 25)), nil); err != nil {
			t.Fatal(err)
		}
		s.body = b.Bytes()
	}
	s.asked = map[archive.ID]int{}
	log := logrus.New()
	log.SetOutput(t.Output())
	log.SetLevel(logrus.DebugLevel)
	ctx, end := context.WithCancel(t.Context())
	var work sync.WaitGroup
	t.Cleanup(func() { end(); work.Wait() })
	now := time.Unix(1e9, 0)
	m, err = pictures.New(ctx, s, work.Go, func() time.Time { return now }, log)
	if err != nil {
		t.Fatal(err)
	}
	m.SetAgain(0)
	return m, cache, &now, work.Wait
}

// folder is one of n documents.
func folder(name string, first, n int) (docs []pictures.Document) {
	for i := range n {
		docs = append(docs, pictures.Document{
			ID: archive.ID(first + i), Path: filepath.Join("/mnt", name, fmt.Sprintf("%d.pdf", i)), Modified: time.Unix(int64(i), 0),
		})
	}
	return docs
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// nobody is not interested in what was written.
func nobody([]string) {}

func has(cache thumbnail.Cache, docs []pictures.Document) (n int) {
	for _, d := range docs {
		if cache.Has(thumbnail.URI(d.Path), d.Modified) {
			n++
		}
	}
	return n
}

func TestShow(t *testing.T) {
	s := &service{}
	m, cache, _, idle := setup(t, s)
	docs := folder("a", 1, pictures.Most+20)
	docs[3].ID = withoutPage
	var written []string
	m.Show(docs, func(names []string) { written = append(written, names...) })
	idle()
	if len(written) != pictures.Most-1 || written[3] != "4.pdf" {
		t.Errorf("told of %q", written)
	}
	if n := has(cache, docs); n != pictures.Most-1 {
		t.Errorf("%d have a thumbnail, want the first %d without the one that has no page", n, pictures.Most)
	}
	if n := s.count(); n != 2*pictures.Most-1 {
		t.Errorf("%d requests", n)
	}
	before := s.count()
	m.Show(docs, func(names []string) { t.Errorf("told again of %q", names) })
	idle()
	if n := s.count(); n != before {
		t.Errorf("the second visit asked %d times", n-before)
	}
	docs[5].Modified = time.Unix(5000, 0)
	m.Show(docs, nobody)
	idle()
	if n := s.count() - before; n != 2 || has(cache, docs[5:6]) != 1 {
		t.Errorf("of one that has changed: %d requests, %d thumbnails", n, has(cache, docs[5:6]))
	}
}

// A file manager whose thumbnailer was refused removes what it finds in the cache a little later.
func TestRemovedThumbnails(t *testing.T) {
	s := &service{}
	m, cache, _, idle := setup(t, s)
	docs := folder("a", 1, 10)
	m.SetAgain(time.Millisecond)
	removed := 0
	s.removes = func() {
		if s.asked[docs[9].ID] == 0 || removed > 0 {
			return
		}
		all, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "thumbnails", "*", "*.png")) // the pattern is right
		for _, path := range all {
			if os.Remove(path) == nil {
				removed++
			}
		}
	}
	told := map[string]int{}
	m.Show(docs, func(names []string) {
		for _, name := range names {
			told[name]++
		}
	})
	idle()
	if n := has(cache, docs); removed == 0 || n != len(docs) {
		t.Errorf("%d thumbnails are there after %d were removed", n, removed)
	}
	if len(told) != len(docs) || told["0.pdf"] != 2 {
		t.Errorf("told of %v", told)
	}
	for range 5 { // it removes them whenever it sees them
		must(t, os.RemoveAll(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "thumbnails")))
		m.Show(docs, nobody)
		idle()
	}
	if n := s.count(); n != 2*3*len(docs) {
		t.Errorf("%d requests", n)
	}
}

// A service without previews is asked once, and again later.
func TestServiceWithoutPreviews(t *testing.T) {
	for _, kind := range []archive.Kind{archive.KindUnsupported, archive.KindNotFound} {
		t.Run(kind.String(), func(t *testing.T) { lacksPreviews(t, kind) })
	}
}

func lacksPreviews(t *testing.T, kind archive.Kind) {
	s := &service{fail: &archive.Error{Kind: kind}}
	m, cache, now, idle := setup(t, s)
	docs := folder("a", 1, 50)
	if !m.Wants() {
		t.Fatal("it has not been asked yet")
	}
	m.Show(docs, nobody)
	idle()
	if n := s.count(); m.Wants() || n > 3*4 || has(cache, docs) != 0 {
		t.Errorf("wanted %t after %d requests", m.Wants(), n)
	}
	*now = now.Add(time.Hour)
	if !m.Wants() {
		t.Error("it may have them by now")
	}
	if (*pictures.Maker)(nil).Wants() {
		t.Error("a nil Maker makes none")
	}
}

// The folder that is shown last comes first.
func TestAnotherFolder(t *testing.T) {
	s := &service{wait: make(chan struct{}), began: make(chan struct{}, 1)}
	m, cache, _, idle := setup(t, s)
	left, shown := folder("left", 1, 90), folder("shown", 201, 10)
	m.Show(left, nobody)
	<-s.began
	m.Show(shown, nobody)
	close(s.wait)
	idle()
	if n := has(cache, shown); n != len(shown) {
		t.Errorf("%d of the folder that is shown", n)
	}
	if n := has(cache, left); n > 10 {
		t.Errorf("%d of the folder that was left", n)
	}
}

// A thumbnailer waits until the documents of the folder that is shown were tried, and for no others.
func TestAwait(t *testing.T) {
	(*pictures.Maker)(nil).Await(t.Context(), 1)
	s := &service{wait: make(chan struct{}), began: make(chan struct{}, 1)}
	m, cache, _, idle := setup(t, s)
	docs := folder("a", 1, 20)
	m.Await(t.Context(), docs[0].ID) // nothing is shown yet
	m.Show(docs, nobody)
	<-s.began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Await(ctx, docs[0].ID)
	m.Await(t.Context(), 21) // is not in the folder
	awaited := make(chan int)
	go func() {
		m.Await(t.Context(), docs[0].ID)
		awaited <- has(cache, docs)
	}()
	close(s.wait)
	if n := <-awaited; n != len(docs) {
		t.Errorf("it waited for %d thumbnails", n)
	}
	idle()
	m.Await(t.Context(), docs[0].ID)
}

// Who waits for a folder that is left waits no longer.
func TestAwaitWhatIsLeft(t *testing.T) {
	s := &service{wait: make(chan struct{}), began: make(chan struct{}, 1)}
	m, _, _, idle := setup(t, s)
	m.Show(folder("first", 1, 1), nobody)
	<-s.began
	m.Show(folder("left", 100, 10), nobody) // before its turn
	left := make(chan struct{})
	ready := make(chan struct{})
	go func() {
		close(ready)
		m.Await(t.Context(), 100)
		close(left)
	}()
	<-ready
	m.Show(nil, nobody)
	<-left
	close(s.wait)
	idle()
}

// A preview that is none is not asked for again; a service that is away is.
func TestFailures(t *testing.T) {
	for name, s := range map[string]*service{
		"no picture":    {body: []byte("<html>")},
		"not found":     {fail: &archive.Error{Kind: archive.KindNotFound}},
		"a huge one":    {body: bytes.Repeat([]byte{0xff}, 9<<20)},
		"endless sides": {body: []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\x00\x00\x00\x00\x00\x00\x00")},
	} {
		m, cache, _, idle := setup(t, s)
		docs := folder(name, 1, 1)
		m.Show(docs, nobody)
		idle()
		m.Show(docs, nobody)
		idle()
		if n := s.count(); n != 2 || has(cache, docs) != 0 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
	s := &service{fail: &archive.Error{Kind: archive.KindUnreachable}}
	m, cache, _, idle := setup(t, s)
	docs := folder("away", 1, 40)
	m.Show(docs, nobody)
	idle()
	if n := s.count(); n > 2*4 {
		t.Errorf("a service that is away was asked %d times", n)
	}
	s.fail = nil
	m.Show(docs, nobody)
	idle()
	if n := has(cache, docs); n != len(docs) {
		t.Errorf("%d once it is back", n)
	}
}
