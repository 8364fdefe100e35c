package server

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// unindexed is a server whose index only the test updates.
func unindexed(t *testing.T) *Server {
	t.Helper()
	s := quiet(t)
	s.stopBackground()
	return s
}

// workOff brings the index to the newest state.
func workOff(t *testing.T, s *Server) {
	t.Helper()
	texts, scans := s.newIndexers(s.db.Index)
	for _, index := range []*indexer{texts, scans} {
		for more := true; more; {
			var err error
			if more, err = index.piece(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func put(t *testing.T, s *Server, folder archive.ID, name, content string) archive.ID {
	t.Helper()
	id, err := s.AddDocument(t.Context(), NewDocument{Folder: folder, Name: name, Created: time.Now(), Archived: time.Now()}, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func wantFound(t *testing.T, s *Server, text string, want int) {
	t.Helper()
	ids, err := s.catalog.Search(t.Context(), store.Search{All: []string{text}})
	if err != nil || len(ids) != want {
		t.Errorf("%q finds %v, %v, want %d", text, ids, err, want)
	}
}

// Invisible characters split no word: in a content, a name, a keyword and a query.
func TestInvisibleCharactersSplitNoWord(t *testing.T) {
	s := unindexed(t)
	m, err := s.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"shy.txt": "Quit\u00adten\u00adbrot", "space.txt": "Quit\u200bten\u200bbrot", "mark.txt": "Quit\ufefften\u202ebrot", "joiner.txt": "Quit\u2060ten\u200cbrot\u200e",
		"page.html": "<p>Quit&shy;ten&#x200b;brot</p>", "Stachel\u00adbee\u200bre.txt": "no more", "plain.txt": "Quittenbrot",
	} {
		put(t, s, m, name, content)
	}
	if _, err := s.AddDocument(t.Context(), NewDocument{Folder: m, Name: "k", Keywords: []string{"un\u2066be\u2069zahlt"}, Created: time.Now(), Archived: time.Now()}, strings.NewReader("k")); err != nil {
		t.Fatal(err)
	}
	workOff(t, s)
	for query, want := range map[string]int{"Quittenbrot": 6, "\ufeffQuitten\u00adbrot": 6, "brot": 0, "ten": 0, "Stachelbeere": 1, "unbezahlt": 1} {
		wantFound(t, s, query, want)
	}
	if ids, err := s.catalog.Search(t.Context(), store.Search{Keywords: []string{"unbe\u200bzahlt"}}); err != nil || len(ids) != 1 {
		t.Errorf("the keyword finds %v, %v", ids, err)
	}
}

// Metadata is found at once, and the content, be it a text, HTML or an e-mail, when it is indexed.
func TestContentsAreFound(t *testing.T) {
	s := unindexed(t)
	m, err := s.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, m, "note.txt", "The lighthouse keeper")
	put(t, s, m, "copy.txt", "The lighthouse keeper")
	put(t, s, m, "page.html", "<html><head><title>x</title></head><body><b>light</b>house</body></html>")
	put(t, s, m, "mail.eml", "From: a@example.org\r\nTo: b@example.org\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\nMessage-ID: <1@x>\r\nSubject: keeper\r\n\r\nof the lighthouse\r\n")
	put(t, s, m, "picture.bin", "\x00\x01lighthouse")
	wantFound(t, s, "note", 1)
	wantFound(t, s, "lighthouse", 0)
	workOff(t, s)
	wantFound(t, s, "note", 1)
	wantFound(t, s, "lighthouse", 4)
	wantFound(t, s, "lighthouses", 4)
	wantFound(t, s, "lighthouse keeper", 2)
}

// failing contents cannot be read, or cause a panic.
type failing struct{ contents }

func (s failing) OpenPart(ctx context.Context, digest string, part blob.Part) (io.ReadSeekCloser, error) {
	content, err := s.contents.OpenPart(ctx, digest, part)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 5)
	if _, err := content.Read(head); err != nil || string(head) == "panic" {
		panic("a mistake")
	}
	if string(head) == "error" {
		return nil, errors.Join(errors.New("the disk is gone"), content.Close())
	}
	_, err = content.Seek(0, io.SeekStart)
	return content, err
}

// A content that fails does not keep others from the index; the reason is recorded.
func TestAContentThatFailsHoldsUpNoOther(t *testing.T) {
	s := unindexed(t)
	m, err := s.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"panic one", "error two", "other three"} {
		put(t, s, m, "document.txt", content)
	}
	s.vault.contents = failing{s.vault.contents}
	workOff(t, s)
	wantFound(t, s, "three", 1)
	wantFound(t, s, "two", 0)
	reasons, err := s.db.Index.Unread(t.Context(), "", 9)
	backlog, err2 := s.db.Index.Texts(t.Context())
	if err := errors.Join(err, err2); err != nil || len(reasons) != 2 || !maps.Equal(backlog, map[store.Reading]int64{store.Waiting: 2, store.Read: 1}) {
		t.Errorf("%+v, %+v, %v", reasons, backlog, err)
	}
	for _, r := range reasons {
		if r.State != store.Waiting || !strings.Contains(r.Text, "the disk is gone") && !strings.Contains(r.Text, "the program failed") {
			t.Errorf("%+v", r)
		}
	}
}

// Requests delay the indexer, searches do not.
func TestTheIndexWaitsForRequests(t *testing.T) {
	s, err := Open(t.Context(), Options{Data: t.TempDir(), Credentials: Credentials{APIKey: "k"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	handler := s.Handler()
	for path, busy := range map[string]bool{"POST /api/v2/search": false, "GET /api/v2/inboxes": true} {
		s.activity.last.Store(0)
		method, target, _ := strings.Cut(path, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
		r.Header.Set("API-Key", "k")
		handler.ServeHTTP(httptest.NewRecorder(), r)
		if got := s.activity.last.Load() != 0; got != busy {
			t.Errorf("%s: busy %v", path, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	end := s.activity.begin()
	cancel()
	if err := s.activity.quiet(ctx, time.Nanosecond, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("quiet while something is done: %v", err)
	}
	end()
	if err := s.activity.quiet(t.Context(), time.Nanosecond, time.Hour); err != nil {
		t.Error(err)
	}
	defer s.activity.begin()()
	if err := s.activity.quiet(t.Context(), time.Nanosecond, time.Nanosecond); err != nil {
		t.Errorf("never quiet: %v", err)
	}
}
