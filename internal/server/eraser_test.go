package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/store"
)

// administer opens the archive of a service beside it.
func (h *service) administer() *server.Admin {
	h.t.Helper()
	a, err := server.OpenAdmin(h.t.Context(), server.Place{Data: h.options.Data, Database: h.options.Database, LogSize: logSize})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := a.Close(); err != nil {
			h.t.Error(err)
		}
	})
	return a
}

// archived adds an archived text.
func (h *service) archived(folder archive.ID, name, text string) archive.ID {
	h.t.Helper()
	id, err := h.AddDocument(h.t.Context(), server.NewDocument{Folder: folder, Name: name, Created: day, Archived: day, Keywords: []string{name}}, strings.NewReader(text))
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

var inAMonth = server.Term{Days: 30}

// A removed document is gone for clients, comes back as it was, and leaves nothing once it is erased. A
// content that another document shares stays.
func TestRemovedDocuments(t *testing.T) {
	h := start(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	mandator, err := h.AddMandator(ctx, "M")
	must(err)
	secret := strings.Repeat("Das Geheimnis von Frau Muster. ", 100)
	id, shared := h.archived(mandator, "muster.txt", secret), h.archived(mandator, "shared.txt", "shared")
	other := h.archived(mandator, "other.txt", "shared")
	path := func(id archive.ID, what string) string { return fmt.Sprintf("/document/%d/%s", id, what) }
	for _, what := range []string{"pdf", "ocr-result", "pdf?original=true"} { // renditions are made
		if a := h.get(path(id, what)); a.status != http.StatusOK && a.status != http.StatusNotFound {
			t.Fatalf("%s: %d %s", what, a.status, a.body)
		}
	}
	admin := h.administer()
	must(admin.Remove(ctx, []archive.ID{id, shared}, "twice", inAMonth, false))
	for _, what := range []string{"data", "pdf?original=true", "pdf"} {
		if a := h.get(path(id, what)); a.status != http.StatusNotFound {
			t.Errorf("in the trash %s is %d %s", what, a.status, a.body)
		}
	}
	if a := h.get(fmt.Sprintf("/document/list?folder-id=%d", mandator)); strings.Contains(a.body, "muster.txt") || !strings.Contains(a.body, "other.txt") {
		t.Errorf("the list is %s", a.body)
	}
	if err := admin.Remove(ctx, []archive.ID{other, id}, "again", inAMonth, false); archive.KindOf(err) != archive.KindConflict {
		t.Errorf("removed twice: %v", err)
	}
	if err := admin.Remove(ctx, []archive.ID{other}, " ", inAMonth, false); archive.KindOf(err) != archive.KindInvalid {
		t.Errorf("without a reason: %v", err)
	}
	if a := h.get(path(other, "data")); a.status != http.StatusOK {
		t.Errorf("of several all or none are removed: %d", a.status)
	}
	must(admin.RestoreTrash(ctx, []archive.ID{id}))
	if a := h.get(path(id, "pdf?original=true")); a.status != http.StatusOK || a.body != secret {
		t.Errorf("restored it is %d %.50q", a.status, a.body)
	}
	must(admin.Remove(ctx, []archive.ID{id}, "Art. 17", inAMonth, true))
	must(admin.EmptyTrash(ctx, []archive.ID{id, shared}))
	if trash, err := admin.Trash(ctx); err != nil || len(trash) != 0 {
		t.Errorf("the trash has %+v, %v", trash, err)
	}
	if a := h.get(path(other, "pdf?original=true")); a.status != http.StatusOK || a.body != "shared" {
		t.Errorf("the shared content is %d %q", a.status, a.body)
	}
	var left []string
	must(h.EachContent(ctx, func(digest string) error {
		left = append(left, digest)
		return nil
	}))
	if sum := sha256.Sum256([]byte("shared")); len(left) != 1 || left[0] != hex.EncodeToString(sum[:]) {
		t.Errorf("the contents are %v", left)
	}
	wantNothingOf(t, h.options.Data, "Geheimnis", "geheimnis", "muster.txt")
}

// wantNothingOf fails the test if a file below dir has one of the words.
func wantNothingOf(t *testing.T, dir string, words ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, word := range words {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s has %q", path, word)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An erasure that a crash has interrupted, after any of its steps, is finished by the next service, or by
// the next command.
func TestAnInterruptedErasureGoesOn(t *testing.T) {
	for _, next := range []string{"service", "command"} {
		for _, step := range []string{"due", "begun", "removed"} {
			t.Run(next+" "+step, func(t *testing.T) {
				data, ctx := t.TempDir(), t.Context()
				must := func(err error) {
					t.Helper()
					if err != nil {
						t.Fatal(err)
					}
				}
				first, err := server.Open(ctx, server.Options{Data: data})
				must(err)
				mandator, err := first.AddMandator(ctx, "M")
				must(err)
				id, err := first.AddDocument(ctx, server.NewDocument{Folder: mandator, Name: "muster.txt", Created: day, Archived: day}, strings.NewReader("Geheimnis"))
				must(err)
				must(first.Close())
				place := server.Place{Data: data}
				admin, err := server.OpenAdmin(ctx, place)
				must(err)
				must(admin.Remove(ctx, []archive.ID{id}, "Art. 17", server.Term{}, true))
				must(admin.Close())
				db, err := store.Open(ctx, filepath.Join(data, "archive.db"))
				must(err)
				if step != "due" {
					digest, err := db.Trash.Begin(ctx, id, time.Now())
					must(err)
					if step == "removed" {
						must(os.Remove(filepath.Join(data, "contents", digest[:2], digest)))
					}
				}
				must(db.Close())
				if next == "service" {
					second, err := server.Open(ctx, server.Options{Data: data})
					must(err)
					defer func() { must(second.Close()) }()
				}
				admin, err = server.OpenAdmin(ctx, place)
				must(err)
				if err := admin.EmptyTrash(ctx, []archive.ID{id}); archive.KindOf(err) != archive.KindNotFound { // the service was faster
					must(err)
				}
				if trash, err := admin.Trash(ctx); err != nil || len(trash) != 0 {
					t.Errorf("the trash has %+v, %v", trash, err)
				}
				must(admin.Close())
				wantNothingOf(t, filepath.Join(data, "contents"), "Geheimnis")
			})
		}
	}
}

// The data of a document that was restored tell of it.
func TestTheHistoryOfARestoredDocument(t *testing.T) {
	h := start(t)
	mandator, err := h.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	ids := []archive.ID{h.archived(mandator, "a.txt", "text")}
	admin := h.administer()
	if err := admin.Remove(t.Context(), ids, "twice", inAMonth, false); err != nil {
		t.Fatal(err)
	}
	if err := admin.RestoreTrash(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	a := h.get(fmt.Sprintf("/document/%d/data", ids[0])) // the answer is as the OpenAPI document says
	if a.status != http.StatusOK || !strings.Contains(a.body, `"trash"`) || !strings.Contains(a.body, `"restore"`) || !strings.Contains(a.body, "twice") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
