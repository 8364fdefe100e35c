package apiclient

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// newHostile returns a client of a hostile service with the mandator 1, the inbox 2, and in it a
// document with all that a service can have of one.
func newHostile(t *testing.T, cfg hostile.Config) (*Client, *hostile.Service) {
	t.Helper()
	s := hostile.New(cfg)
	s.AddMandator("M")
	s.AddDocument(s.AddInbox(1, "I"), hostile.Document{Name: "a.txt", Content: []byte("a"), Text: "a", Preview: []byte("\xff\xd8")})
	c := newClient(t, Config{BaseURL: s.Start(t), Credentials: Credentials{APIKey: testKey}, RetryFor: -1})
	t.Cleanup(c.sender.http.CloseIdleConnections)
	return c, s
}

// A service that negotiates the type of its answers accepts every request.
func TestEveryAnswerIsAcceptable(t *testing.T) {
	c, s := newHostile(t, hostile.Config{Negotiates: true})
	calls := map[string]func(context.Context) error{
		"structure": func(ctx context.Context) error { _, err := c.Structure(ctx, 0, false); return err },
		"documents": func(ctx context.Context) error { _, err := c.Documents(ctx, 1, archive.ListOptions{}); return err },
		"inboxes":   func(ctx context.Context) error { _, err := c.Inboxes(ctx); return err },
		"folder":    func(ctx context.Context) error { _, err := c.CreateFolder(ctx, 1, "F"); return err },
		"upload": func(ctx context.Context) error {
			_, err := c.Upload(ctx, archive.Upload{Folder: 2, Name: "b.txt"}, newBlob("b"))
			return err
		},
		"replace":     func(ctx context.Context) error { return c.Replace(ctx, 1, "a.txt", nil, newBlob("c")) },
		"data":        func(ctx context.Context) error { _, err := c.Data(ctx, 1); return err },
		"auto-export": func(ctx context.Context) error { return c.SetAutoExport(ctx, 1, true) },
		"keywords":    func(ctx context.Context) error { return c.SetKeywords(ctx, 1, []string{"k"}) },
		"search":      func(ctx context.Context) error { _, err := c.Search(ctx, archive.Search{}, 1); return err },
		"length": func(ctx context.Context) error {
			_, err := c.ContentInfo(ctx, 1, archive.Original)
			return err
		},
	}
	for as, of := range map[archive.Representation]archive.ID{archive.Original: 1, archive.PDF: 1, archive.Text: 1, archive.Preview: 1000} {
		calls[as.String()] = func(ctx context.Context) error { return contentOf(as)(ctx, c, of) }
	}
	for name, call := range calls {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Archive(t.Context(), 1, archive.ArchiveTarget{Folder: 1}); err != nil {
		t.Error(err)
	}
	if v := s.Violations(); len(v) > 0 {
		t.Error(v)
	}
}

// An upload that is refused for how it was asked for has not been carried out.
func TestARefusalToAnswerIsNoDoubt(t *testing.T) {
	for _, status := range []int{http.StatusNotAcceptable, http.StatusUnsupportedMediaType, http.StatusExpectationFailed} {
		c := newService(t, answer(status, "text/plain", "no"))
		_, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
		wantKind(t, err, OpFileUpload, archive.KindInvalid)
		if archive.Doubtful(err) || statusOf(err) != status {
			t.Errorf("%d is %v, doubtful: %v", status, err, archive.Doubtful(err))
		}
	}
}

// Where Expect is refused, a large file is sent without it, and later ones at once.
func TestExpectIsGivenUp(t *testing.T) {
	c, s := newHostile(t, hostile.Config{NoExpect: true})
	upload := func(name string) {
		if _, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: name}, endless{2 * expectContinueFrom}); err != nil {
			t.Error(err)
		}
	}
	var first sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		first.Go(func() { upload(name) })
	}
	first.Wait()
	s.Reset()
	upload("c")
	if err := c.Replace(t.Context(), 1, "a.txt", nil, endless{2 * expectContinueFrom}); err != nil {
		t.Error(err)
	}
	if slices.ContainsFunc(s.Requests(), func(r hostile.Request) bool { return r.Header.Get("Expect") != "" }) || len(s.Requests()) != 2 {
		t.Errorf("after the refusal these were sent: %+v", s.Requests())
	}
	if docs := s.Documents(1); len(docs) != 3 {
		t.Errorf("%d documents for three files", len(docs))
	}
}
