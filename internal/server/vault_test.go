package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// gone is a database that becomes unavailable right after a change.
type gone struct{ uses }

func (gone) Drop(context.Context, string, func(context.Context, string) error) error {
	return &archive.Error{Op: "store", Kind: archive.KindUnreachable, Err: errors.New("the database is gone")}
}

// An upload that was stored is not answered with an error, because the client would repeat it.
func TestWhatWasRecordedHasNotFailed(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{Data: t.TempDir(), Database: NewDatabase(t), Blobs: NewBlobs(t), Credentials: Credentials{APIKey: "key"}})
	inbox, err := s.AddInbox(t.Context(), 7, "I")
	if err != nil {
		t.Fatal(err)
	}
	s.vault.uses = gone{s.db.Uses}
	const form = "--b\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"d\"\r\n\r\ncontent\r\n--b--\r\n"
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base+"/file-upload", strings.NewReader(form))
	request.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	request.Header.Set("API-Key", "key")
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, request)
	kept := 0
	err = s.catalog.List(t.Context(), store.Query{Folder: inbox}, func(store.Listed) error { kept++; return nil })
	if err != nil || answer.Code != http.StatusOK || kept != 1 {
		t.Errorf("%d, and %d documents are kept, %v", answer.Code, kept, err)
	}
}
