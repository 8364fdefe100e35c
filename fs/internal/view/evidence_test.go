package view

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/archivefs/archivefs/archive"
)

// scripted is a service that answers by a table, and records its requests. The table has the Kind
// of the error for a document and representation; all others exist.
type scripted struct {
	answers map[string]archive.Kind

	mu    sync.Mutex
	asked []string // guarded by mu
}

// hanging stands for an answer that never comes.
const hanging archive.Kind = 255

func (s *scripted) ContentInfo(ctx context.Context, doc archive.ID, rep archive.Representation) (*archive.Content, error) {
	what := fmt.Sprintf("%d %s", doc, rep)
	s.mu.Lock()
	s.asked = append(s.asked, what)
	kind, struck := s.answers[what]
	if !struck {
		kind, struck = s.answers[rep.String()]
	}
	s.mu.Unlock()
	switch {
	case kind == hanging:
		<-ctx.Done()
		return nil, ctx.Err()
	case struck:
		return nil, &archive.Error{Op: "document/info", Kind: kind}
	}
	return &archive.Content{Size: 1}, nil
}

func (s *scripted) Content(ctx context.Context, want archive.ContentRequest) (*archive.Content, error) {
	_, err := s.ContentInfo(ctx, want.Document, want.Representation)
	return &archive.Content{Body: io.NopCloser(strings.NewReader(""))}, err
}

// takeAsked returns the documents and representations that were requested since the last call.
func (s *scripted) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := slices.Compact(s.asked)
	s.asked = nil
	return asked
}

func listing(ids ...archive.ID) []archive.Document {
	var docs []archive.Document
	for _, id := range ids {
		docs = append(docs, archive.Document{ID: id})
	}
	return docs
}

func TestWhatOneDocumentLacksAnotherConfirms(t *testing.T) {
	const (
		none   = archive.KindUnsupported
		broken = archive.KindServer
		gone   = archive.KindNotFound
	)
	type look struct {
		docs  []archive.ID
		asked []string
		used  archive.Representation
	}
	for name, tt := range map[string]struct {
		answers map[string]archive.Kind
		looks   []look
	}{
		"all is there": {nil, []look{
			{[]archive.ID{1, 2, 3}, []string{"1 original"}, archive.Original},
			{[]archive.ID{4, 5}, nil, archive.Original},
		}},
		"the first has no original": {map[string]archive.Kind{"1 original": none}, []look{
			{[]archive.ID{1, 2, 3}, []string{"1 original", "1 pdf", "3 original"}, archive.Original},
			{[]archive.ID{1, 2, 3}, nil, archive.Original},
		}},
		"nor a PDF": {map[string]archive.Kind{"1 original": none, "1 pdf": none}, []look{
			{[]archive.ID{1, 2, 3}, []string{"1 original", "1 pdf", "3 original"}, archive.Original},
		}},
		"no originals": {map[string]archive.Kind{"original": none}, []look{
			{[]archive.ID{1, 2, 3}, []string{"1 original", "1 pdf", "3 original"}, archive.PDF},
			{[]archive.ID{4, 5, 6}, nil, archive.PDF},
		}},
		"no originals, and the first has no PDF": {map[string]archive.Kind{"original": none, "1 pdf": none}, []look{
			{[]archive.ID{1, 2, 3}, []string{"1 original", "1 pdf", "3 original", "3 pdf"}, archive.PDF},
			{[]archive.ID{4, 5, 6}, nil, archive.PDF},
		}},
		"neither": {map[string]archive.Kind{"original": none, "pdf": none}, []look{
			{[]archive.ID{1, 2, 3, 4, 5}, []string{"1 original", "1 pdf", "5 original", "5 pdf"}, archive.Data},
			{[]archive.ID{6, 7}, nil, archive.Data},
		}},
		"one document is believed until there is another": {map[string]archive.Kind{"1 original": none, "1 pdf": none}, []look{
			{[]archive.ID{1}, []string{"1 original", "1 pdf"}, archive.Data},
			{[]archive.ID{1}, nil, archive.Data},
			{[]archive.ID{2}, []string{"2 original"}, archive.Original},
		}},
		"and confirmed by it": {map[string]archive.Kind{"original": none}, []look{
			{[]archive.ID{1}, []string{"1 original", "1 pdf"}, archive.PDF},
			{[]archive.ID{1, 2}, []string{"2 original"}, archive.PDF},
			{[]archive.ID{3}, nil, archive.PDF},
		}},
		"what is gone shows nothing": {map[string]archive.Kind{"1 original": none, "3 original": gone}, []look{
			{[]archive.ID{1, 2, 3}, []string{"1 original", "1 pdf", "3 original", "2 original"}, archive.Original},
		}},
		"nor does what fails": {map[string]archive.Kind{"1 original": none, "3 original": broken}, []look{
			{[]archive.ID{1, 2, 3}, []string{"1 original", "1 pdf", "3 original"}, 0},
			{[]archive.ID{4}, nil, 0}, // no checks for a while
		}},
		"the first fails": {map[string]archive.Kind{"1 original": broken}, []look{
			{[]archive.ID{1, 2, 3}, []string{"1 original"}, 0},
			{[]archive.ID{1, 2, 3}, []string{"3 original"}, archive.Original},
		}},
		"all fail": {map[string]archive.Kind{"original": broken}, []look{
			{[]archive.ID{1, 2, 3}, []string{"1 original"}, 0},
			{[]archive.ID{1, 2, 3}, []string{"3 original"}, 0},
			{[]archive.ID{1}, []string{"1 original"}, 0},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			service := &scripted{answers: tt.answers}
			r := newRepresentations()
			r.Service = service
			for i, l := range tt.looks {
				choose(t.Context(), r, listing(l.docs...))
				if asked := service.takeAsked(); !slices.Equal(asked, l.asked) || r.used() != l.used {
					t.Errorf("listing %d: asked for %q, want %q; documents are read as %s, want %s", i, asked, l.asked, r.used(), l.used)
				}
			}
		})
	}
}

// choose is Choose for documents without extensions, which waits.
func choose(ctx context.Context, r *Representations, docs []archive.Document) {
	r.Choose(ctx, docs, func([]archive.Document) bool { return false })
}

// A listing does not wait for a check while documents are read as originals and have names. If they are
// read as less, it does: nobody reads a PDF in place of an original that the check finds.
func TestWhichListingsWaitForTheCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		used  archive.Representation
		named bool
		waits bool
	}{
		"nothing is known":                       {0, true, false},
		"nothing is known, without names":        {0, false, true},
		"read as PDF":                            {archive.PDF, true, true},
		"read as PDF, without names":             {archive.PDF, false, true},
		"read as document data":                  {archive.Data, true, true},
		"read as document data, without names":   {archive.Data, false, true},
		"read as the original":                   {archive.Original, true, false},
		"read as the original and without names": {archive.Original, false, false}, // sure
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service := &blockedInfo{answer: make(chan struct{})}
				r := newRepresentations()
				r.Service = service
				r.choose(tt.used)
				returned := make(chan archive.Representation, 1)
				go func() {
					r.Choose(t.Context(), listing(1, 2, 3), func([]archive.Document) bool { return tt.named })
					returned <- r.Of(1)
				}()
				synctest.Wait()
				if waits := len(returned) == 0; waits != tt.waits {
					t.Errorf("it waits: %t", waits)
				}
				close(service.answer)
				if got := <-returned; got != archive.Original {
					t.Errorf("a document is read as %s", got)
				}
			})
		})
	}
}

// A second document that hangs does not delay a listing for long, and is checked once.
func TestAListingDoesNotWaitForTheSecondDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &scripted{answers: map[string]archive.Kind{"original": archive.KindUnsupported, "9 original": hanging}}
		r := newRepresentations()
		r.Service = service
		choose(t.Context(), r, listing(1, 9))
		if r.used() != archive.PDF {
			t.Errorf("documents are read as %s", r.used())
		}
		choose(t.Context(), r, listing(2, 9))
		if asked := service.takeAsked(); !slices.Equal(asked, []string{"1 original", "1 pdf", "9 original"}) {
			t.Errorf("asked for %q", asked)
		}
		if err := r.Work.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.evidence.end(r.evidence.failing().Add(-r.Pause)) // it is time
		choose(t.Context(), r, listing(2, 9))
		if asked := service.takeAsked(); !slices.Equal(asked, []string{"2 original"}) || !r.evidence.sure(archive.PDF) {
			t.Errorf("asked for %q", asked)
		}
	})
}

// Opening documents counts as evidence, too.
func TestADocumentReadAsLessDoesNotDecide(t *testing.T) {
	r := newRepresentations()
	r.choose(archive.Original)
	r.evidence.lacks(archive.Original, 1)
	r.evidence.lacks(archive.Original, 1)
	if r.choose(archive.PDF); r.used() != archive.Original {
		t.Error("one document decides")
	}
	r.evidence.has(archive.Original)
	r.evidence.lacks(archive.Original, 2)
	if r.choose(archive.PDF); r.used() != archive.Original {
		t.Error("a document decides that was followed by one that has an original")
	}
	r.evidence.lacks(archive.Original, 3)
	if r.choose(archive.PDF); r.used() != archive.PDF {
		t.Error("two documents do not decide")
	}
	if r.choose(archive.Data); r.used() != archive.PDF {
		t.Error("nobody lacks a PDF")
	}
}
