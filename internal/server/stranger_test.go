package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/store"
)

// manage opens an Admin for a tenant.
func manage(t *testing.T, s *Server, cloudID string) *Admin {
	t.Helper()
	a, err := OpenAdmin(t.Context(), Place{Data: s.options.Data, Database: s.options.Database, CloudID: cloudID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func ofAnotherTenant(t *testing.T, s *Server) stranger {
	t.Helper()
	if _, err := manage(t, s, "").AddTenant(t.Context(), "other", "Other GmbH"); err != nil {
		t.Fatal(err)
	}
	return settle(t, s, manage(t, s, "other"), "another tenant", NewKey{})
}

// ofAnotherMandator is a stranger of the same tenant, whose key is for another mandator.
func ofAnotherMandator(t *testing.T, s *Server) stranger {
	t.Helper()
	return settle(t, s, manage(t, s, ""), "a key for another mandator", NewKey{Mandators: []string{"Own"}})
}

// settle gives a stranger a mandator, an inbox with a document, and a key.
func settle(t *testing.T, s *Server, a *Admin, name string, key NewKey) stranger {
	t.Helper()
	ctx := t.Context()
	who := stranger{name: name, header: http.Header{}}
	var err error
	if who.own, err = a.AddMandator(ctx, "Own"); err != nil {
		t.Fatal(err)
	}
	if who.user, err = a.AddUser(ctx, "eve", "password"); err != nil {
		t.Fatal(err)
	}
	if who.tray, err = a.AddInbox(ctx, "Own", "eve"); err != nil {
		t.Fatal(err)
	}
	theirs := furnisher{intake: s.intake, catalog: catalog.Whole{Archive: s.db.Tenant(a.tenant)}}
	if who.document, err = theirs.AddDocument(ctx, NewDocument{Folder: who.tray, Name: "own.txt", Created: time.Now()}, strings.NewReader("own")); err != nil {
		t.Fatal(err)
	}
	_, text, err := a.AddKey(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	asked := http.Request{Header: who.header}
	asked.Header.Set("API-Key", text)
	asked.SetBasicAuth("eve", "password")
	return who
}

// held is the data of the default tenant in the mandator and the inbox called Theirs.
func held(t *testing.T, s *Server) string {
	t.Helper()
	var all []any
	for _, inboxes := range []bool{false, true} {
		roots, err := s.catalog.Roots(t.Context(), inboxes)
		if err != nil {
			t.Fatal(err)
		}
		root := roots[slices.IndexFunc(roots, func(f store.Folder) bool { return f.Name == "Theirs" })]
		below, err := s.catalog.Below(t.Context(), root.ID)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, root, below)
		err = s.catalog.List(t.Context(), store.Query{Folder: root.ID, Recursive: true}, func(d store.Listed) error {
			whole, err := s.catalog.Document(t.Context(), d.ID)
			whole.Text = "" // the indexer reads it meanwhile
			all = append(all, whole)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%+v", all)
}

// belongings are those of the default tenant: a folder with a document, and an inbox with one.
func belongings(t *testing.T, s *Server) (mandator, folder, inbox, document, scan archive.ID) {
	t.Helper()
	ctx := t.Context()
	must := func(id archive.ID, err error) archive.ID {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	mandator = must(s.AddMandator(ctx, "Theirs"))
	folder = must(s.AddFolder(ctx, mandator, "below"))
	inbox = must(s.AddInbox(ctx, 1, "Theirs"))
	document = must(s.AddDocument(ctx, NewDocument{
		Folder: folder, Name: "theirs secret.txt", Created: time.Now(), Archived: time.Now(), ExternalID: "E",
		Metadata: []archive.KeyValue{{Key: "a", Value: "secret"}}, Notes: []archive.Note{{Text: "secret"}},
	}, strings.NewReader("theirs")))
	scan = must(s.AddDocument(ctx, NewDocument{Folder: inbox, Name: "scan secret.txt", Created: time.Now()}, strings.NewReader("secret scan")))
	return mandator, folder, inbox, document, scan
}

func text(id archive.ID) string { return strconv.FormatInt(int64(id), 10) }
