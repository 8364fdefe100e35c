package store_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

func TestCloudIDs(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx := t.Context()
		one, err := s.AddTenant(ctx, "one", "")
		if err != nil || one == store.DefaultTenant {
			t.Fatalf("%d, %v", one, err)
		}
		if _, err := s.AddTenant(ctx, "one", ""); archive.KindOf(err) != archive.KindConflict {
			t.Errorf("the same cloud id again: %v", err)
		}
		if id, err := s.FindTenant(ctx, "one"); err != nil || id != one {
			t.Errorf("found %d, %v", id, err)
		}
		for _, unknown := range []string{"", "two", "ONE"} {
			if _, err := s.FindTenant(ctx, unknown); archive.KindOf(err) != archive.KindNotFound {
				t.Errorf("cloud id %q: %v", unknown, err)
			}
		}
	})
}

// For the ids of another tenant everything is not found, and nothing of the other tenant changes.
func TestATenantSeesNothingOfAnother(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx := t.Context()
		id, err := s.AddTenant(ctx, "other", "")
		if err != nil {
			t.Fatal(err)
		}
		other := s.Tenant(id)
		theirs := folder(t, s, store.Folder{Name: "M"})
		inbox := folder(t, s, store.Folder{Name: "I", Inbox: true})
		fill(t, s, 2, theirs)
		if _, err := s.AddDocuments(ctx, []store.Document{{Folder: inbox, Name: "scan", ExternalID: "E", Notes: []archive.Note{{Text: "n"}}}}, false); err != nil {
			t.Fatal(err)
		}
		if err := s.SetSetting(ctx, "name", "theirs"); err != nil {
			t.Fatal(err)
		}
		if err := s.SetSetting(ctx, "both", "of another"); err != nil {
			t.Fatal(err)
		}
		if err := s.Alter(ctx, 1, store.SetAutoExport(true)); err != nil {
			t.Fatal(err)
		}
		before := everything(t, s.Archive, theirs, inbox)

		if ids, err := other.Search(ctx, store.Search{}); err != nil || len(ids) != 0 {
			t.Errorf("found %v, %v", ids, err)
		}
		own := folder(t, other, store.Folder{Name: "M"}) // the name is free
		tray := folder(t, other, store.Folder{Name: "I", Inbox: true})
		fill(t, other, 1, own)
		waiting, err := other.AddDocuments(ctx, []store.Document{{Folder: tray, Name: "own"}}, false)
		if err != nil {
			t.Fatal(err)
		}
		const document, scan = archive.ID(1), archive.ID(3)
		name := "x"
		notFound := map[string]func() error{
			"AddFolder":     func() error { _, err := other.AddFolder(ctx, store.Folder{Parent: theirs, Name: "x"}); return err },
			"Folder":        func() error { _, err := other.Folder(ctx, theirs); return err },
			"Child of root": func() error { _, err := other.Child(ctx, 0, "I"); return err },
			"Child":         func() error { _, err := other.Child(ctx, theirs, "x"); return err },
			"Lineage":       func() error { _, err := other.Lineage(ctx, theirs); return err },
			"Document":      func() error { _, err := other.Document(ctx, document); return err },
			"UploadedWith":  func() error { _, err := other.UploadedWith(ctx, document); return err },
			"List":          func() error { return other.List(ctx, store.Query{Folder: theirs}, nil) },
			"List below":    func() error { return other.List(ctx, store.Query{Folder: theirs, Recursive: true}, nil) },
			"AddDocuments": func() error {
				_, err := other.AddDocuments(ctx, []store.Document{{Folder: inbox, Name: "x", ExternalID: "E"}}, true)
				return err
			},
			"ArchiveDocument": func() error {
				_, err := other.ArchiveDocument(ctx, scan, store.Target{Folder: own, At: time.Now()})
				return err
			},
			"ArchiveDocument to them": func() error {
				_, err := other.ArchiveDocument(ctx, waiting[0], store.Target{Folder: theirs, At: time.Now()})
				return err
			},
			"Alter auto-export": func() error { return other.Alter(ctx, document, store.SetAutoExport(true)) },
			"Alter name":        func() error { return other.Alter(ctx, document, store.SetName("x")) },
			"Alter keywords":    func() error { return other.Alter(ctx, document, store.SetKeywords([]string{"x"})) },
			"Alter metadata":    func() error { return other.Alter(ctx, document, store.SetMetadata(map[string]*string{"x": &name})) },
			"ReplaceContent":    func() error { _, err := other.ReplaceContent(ctx, scan, store.Content{Digest: "x"}); return err },
			"DeleteDocument":    func() error { _, err := other.DeleteDocument(ctx, scan); return err },
		}
		for what, do := range notFound {
			if err := do(); archive.KindOf(err) != archive.KindNotFound {
				t.Errorf("%s: %v", what, err)
			}
		}
		// Lists are empty, or have only the tenant's own.
		lists := map[string]func() (int, error){
			"Roots":       func() (int, error) { f, err := other.Roots(ctx, false); return len(f) - 1, err },
			"Tree":        func() (int, error) { f, err := other.Tree(ctx, true); return len(f) - 1, err },
			"Children":    func() (int, error) { f, err := other.Children(ctx, theirs); return len(f), err },
			"Below":       func() (int, error) { f, err := other.Below(ctx, theirs); return len(f), err },
			"Annotations": func() (int, error) { n, s, err := other.Annotations(ctx, scan); return len(n) + len(s), err },
			"History":     func() (int, error) { e, err := other.History(ctx, scan, 9); return len(e), err },
			"Setting":     func() (int, error) { v, err := other.Setting(ctx, "name"); return len(v), err },
			"SetSetting":  func() (int, error) { return 0, other.SetSetting(ctx, "unlike", "own") },
			"FirstSetting": func() (int, error) {
				v, err := other.FirstSetting(ctx, "both", "own")
				return len(v) - len("own"), err
			},
			"ListAutoExport": func() (n int, err error) {
				err = other.ListAutoExport(ctx, func(store.Listed) error { n++; return nil })
				return n, err
			},
			"Search": func() (int, error) { ids, err := other.Search(ctx, store.Search{}); return len(ids) - 2, err },
			"Search below": func() (int, error) {
				ids, err := other.Search(ctx, store.Search{Folder: theirs, Recursive: true})
				return len(ids), err
			},
			"Search in": func() (int, error) { ids, err := other.Search(ctx, store.Search{Folder: inbox}); return len(ids), err },
			"Search id": func() (int, error) {
				ids, err := other.Search(ctx, store.Search{ExternalID: "E"})
				return len(ids), err
			},
		}
		for what, list := range lists {
			if n, err := list(); err != nil || n != 0 {
				t.Errorf("%s: %d too many, %v", what, n, err)
			}
		}
		// By and In ask for nothing, Empty is below, Trail is for tests, Version knows no tenants.
		tried := map[string]bool{"By": true, "In": true, "Empty": true, "Trail": true, "Version": true}
		for what := range notFound {
			tried[strings.Fields(what)[0]] = true
		}
		for what := range lists {
			tried[strings.Fields(what)[0]] = true
		}
		for method := range reflect.TypeFor[store.Archive]().Methods() {
			if !tried[method.Name] {
				t.Errorf("%s is not tried", method.Name)
			}
		}
		if empty, err := s.Tenant(id + 1).Empty(ctx); err != nil || !empty {
			t.Errorf("one that is not there: empty %v, %v", empty, err)
		}
		if _, err := s.Tenant(id+1).AddFolder(ctx, store.Folder{Name: "M"}); err == nil {
			t.Error("one that is not there takes a folder")
		}
		if after := everything(t, s.Archive, theirs, inbox); !reflect.DeepEqual(after, before) {
			t.Errorf("what another tenant did has changed\n%v to\n%v", before, after)
		}
	})
}

// everything is the data of a tenant in some folders.
func everything(t *testing.T, a store.Archive, folders ...archive.ID) (all []any) {
	t.Helper()
	ctx := t.Context()
	for _, inboxes := range []bool{false, true} {
		tree, err := a.Tree(ctx, inboxes)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tree)
	}
	for _, f := range folders {
		for _, id := range listed(t, a, store.Query{Folder: f, Recursive: true}) {
			d, err := a.Document(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			notes, stamps, err := a.Annotations(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, d, notes, stamps)
		}
	}
	setting, err := a.Setting(ctx, "name")
	if err != nil {
		t.Fatal(err)
	}
	return append(all, setting)
}
