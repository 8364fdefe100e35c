package server

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/store"
)

// versioned is a catalogue of a known version that counts its lists of documents with names of a length.
type versioned struct {
	catalog.Catalog
	version store.Version
	name    int
	lists   int
}

func (c *versioned) Folder(context.Context, archive.ID) (store.Folder, error) {
	return store.Folder{}, nil
}

func (c *versioned) Version(context.Context) store.Version { return c.version }

func (c *versioned) List(_ context.Context, _ store.Query, each func(store.Listed) error) error {
	c.lists++
	return each(store.Listed{ID: 1, Name: strings.Repeat("x", c.name), Keywords: "[]", Metadata: "[]"})
}

func TestKeptLists(t *testing.T) {
	t.Parallel()
	c := &versioned{version: 5, name: 10}
	h := listHandlers{kept: newKeptLists()}
	list := func(folder int) (read bool) {
		t.Helper()
		before, w := c.lists, httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("/api/v2/document/list?folder-id=%d", folder), nil)
		if err := h.documentList(&response{ResponseWriter: w}, &request{Request: r, catalog: c}); err != nil || w.Body.Len() < c.name {
			t.Fatal(w.Body, err)
		}
		return c.lists > before
	}
	wants := func(what string, folder int, reads ...bool) {
		t.Helper()
		for n, want := range reads {
			if read := list(folder); read != want {
				t.Errorf("%s: request %d reads the documents: %v", what, n, read)
			}
		}
	}
	wants("a list", 1, true, true, false, false)
	wants("another one", 2, true, true, false)
	c.version++
	wants("after a change", 1, true, false)
	c.version = 0
	wants("without a version", 1, true, true)
	c.version, c.name = 7, maxKeptList
	wants("a long list", 3, true, true, true)
	c.name = maxKeptList * 3 / 4
	for folder := range 60 {
		wants("a longer list", 100+folder, true, true, false)
	}
	wants("the last list", 159, false)
	wants("an evicted list", 100, true, false)
	h.kept.mu.Lock()
	defer h.kept.mu.Unlock()
	if k := h.kept; k.bytes > maxKept || k.bytes < maxKept/2 || k.lists.Len() != maxKept/c.name {
		t.Errorf("%d bytes in %d lists", k.bytes, k.lists.Len())
	}
}
