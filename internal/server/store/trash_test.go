package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// added returns the ids of documents that it adds.
func added(t *testing.T, s archiver, documents ...store.Document) []archive.ID {
	t.Helper()
	ids, err := s.AddDocuments(t.Context(), documents, false)
	must(t, err)
	return ids
}

func TestTrash(t *testing.T) { onEach(t, testTrash) }

func testTrash(t *testing.T, s opened) {
	ctx := t.Context()
	a := s.By("admin eve")
	m := folder(t, s, store.Folder{Name: "M"})
	archived := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	ids := added(t, a,
		store.Document{
			Folder: m, Name: "Frau Muster", Archived: archived, Created: archived, Digest: strings.Repeat("a", 64), Size: 5, ContentType: "text/plain", Pages: 3,
			Keywords: []string{"offen", "a, b"}, Types: []string{"Rechnung"}, Metadata: []archive.KeyValue{{Key: "k", Value: "v"}}, AutoExport: true,
			Creator: "erika", ExternalID: "x-1", Notes: []archive.Note{{Text: "zur Kenntnis", Date: "d", Creator: "c"}}, Stamps: []archive.Stamp{{Title: "t"}},
		},
		store.Document{Folder: m, Name: "other", Archived: archived, Digest: strings.Repeat("b", 64)})
	indexed(t, s)
	id := ids[0]
	before, err := a.Document(ctx, id)
	must(t, err)
	notes, stamps, err := a.Annotations(ctx, id)
	must(t, err)
	must(t, a.Alter(ctx, id, store.SetKeywords([]string{"geheim"})))
	must(t, a.Alter(ctx, id, store.SetKeywords(before.Keywords)))

	now := time.Unix(1_800_000_000, 0)
	removal := store.Removal{Reason: "twice", At: now, Due: now.AddDate(0, 0, 30)}
	other, err := s.AddTenant(ctx, "other", "")
	must(t, err)
	for what, err := range map[string]error{
		"an unknown document": s.Trash.Put(ctx, a, 4711, removal),
		"another tenant's":    s.Trash.Put(ctx, s.Tenant(other), id, removal),
		"a restored one":      s.Trash.Restore(ctx, a, id),
		"an expired one":      s.Trash.Expire(ctx, a, id, now),
	} {
		if archive.KindOf(err) != archive.KindNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}

	must(t, s.Trash.Put(ctx, a, id, removal))
	if err := s.Trash.Put(ctx, a, id, removal); archive.KindOf(err) != archive.KindConflict ||
		!strings.Contains(err.Error(), "since "+now.Format(time.DateTime)+" until "+removal.Due.Format(time.DateTime)) {
		t.Errorf("removed twice: %v", err)
	}
	if err := s.Trash.Put(ctx, s.Tenant(other), id, removal); archive.KindOf(err) != archive.KindNotFound {
		t.Errorf("in the trash of another tenant: %v", err)
	}
	if _, err := a.Document(ctx, id); archive.KindOf(err) != archive.KindNotFound {
		t.Errorf("in the trash it is %v", err)
	}
	wantFound := func(want ...archive.ID) {
		t.Helper()
		for _, q := range []store.Search{{All: []string{"muster"}}, {All: []string{"kenntnis"}}, {Keywords: []string{"offen"}}} {
			if got, err := a.Search(ctx, q); err != nil || !slices.Equal(got, want) {
				t.Errorf("%+v finds %v, %v, want %v", q, got, err, want)
			}
		}
	}
	wantFound()
	if used, err := s.Uses.Referenced(ctx, before.Digest); err != nil || !used {
		t.Errorf("its content is used: %v, %v", used, err)
	}
	list, err := s.Trash.List(ctx, store.DefaultTenant)
	must(t, err)
	if len(list) != 1 || list[0].ID != id || list[0].Who != "admin eve" || list[0].Place != "/M/Frau Muster" || !list[0].Due.Equal(removal.Due) ||
		list[0].Reason != "twice" || list[0].Size != 5 {
		t.Errorf("the trash has %+v", list)
	}
	references, err := s.Verification.References(ctx, "", 10)
	must(t, err)
	if len(references) != 2 || references[0].Digest != before.Digest || references[0].Documents != 1 || references[0].Largest != 5 {
		t.Errorf("references: %+v", references)
	}
	wantWhole(t, s)

	// Restored, it is as before, and searches find it.
	must(t, s.Trash.Restore(ctx, a, id))
	after, err := a.Document(ctx, id)
	must(t, err)
	if !reflect.DeepEqual(after, before) {
		t.Errorf("restored as %+v, was %+v", after, before)
	}
	again, stamped, err := a.Annotations(ctx, id)
	must(t, err)
	if !slices.Equal(again, notes) || !slices.Equal(stamped, stamps) {
		t.Errorf("notes %+v, stamps %+v", again, stamped)
	}
	wantFound(id)
	wantWhole(t, s)

	// Erased, nothing is left but the trace of it.
	must(t, s.Trash.Put(ctx, a, id, removal))
	if due, err := s.Trash.Due(ctx, now, 10); err != nil || len(due) != 0 {
		t.Errorf("due before the term: %v, %v", due, err)
	}
	must(t, s.Trash.Expire(ctx, a, id, now))
	due, err := s.Trash.Due(ctx, now, 10)
	must(t, err)
	if len(due) != 1 || due[0].ID != id {
		t.Fatalf("due: %+v", due)
	}
	for range 2 { // a crash repeats it
		digest, err := s.Trash.Begin(ctx, id, now)
		if err != nil || digest != before.Digest {
			t.Fatalf("begin: %q, %v", digest, err)
		}
		if used, err := s.Uses.Referenced(ctx, digest); err != nil || used {
			t.Errorf("its content is used: %v, %v", used, err)
		}
	}
	if err := s.Trash.Restore(ctx, a, id); archive.KindOf(err) != archive.KindConflict {
		t.Errorf("restored while it is erased: %v", err)
	}
	must(t, s.Trash.End(ctx, id))
	must(t, s.Trash.End(ctx, id))
	must(t, s.Trash.Scrub(ctx))
	if list, err := s.Trash.List(ctx, store.DefaultTenant); err != nil || len(list) != 0 {
		t.Errorf("the trash has %v, %v", list, err)
	}
	if digest, err := s.Trash.Begin(ctx, id, now); err != nil || digest != "" {
		t.Errorf("erased again: %q, %v", digest, err)
	}
	history, err := a.History(ctx, id, 100)
	must(t, err)
	same(t, trailLines(history), []string{
		": erase:  -> ", "admin eve: trash:  -> twice", "admin eve: restore:  -> ", "admin eve: trash:  -> twice",
		"admin eve: keywords:  -> ", "admin eve: keywords:  -> ",
	})
	wantWhole(t, s)
}

// wantWhole fails the test if rows violate a rule.
func wantWhole(t *testing.T, s opened) {
	t.Helper()
	if err := s.Verification.Violations(t.Context(), func(v store.Violation) error {
		t.Errorf("%+v", v)
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// What is erased is in no file of the database any more.
func TestErasedTextsAreNotInTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "archive.db")
	s := open(t, file)
	ctx := t.Context()
	m := folder(t, s, store.Folder{Name: "M"})
	tray := folder(t, s, store.Folder{Name: "Tray", Inbox: true})
	var ids []archive.ID
	for range 50 {
		scan := added(t, s, store.Document{
			Folder: tray, Name: "geheimnis", Digest: strings.Repeat("a", 64), Keywords: []string{"geheimnis"}, Metadata: []archive.KeyValue{{Key: "k", Value: strings.Repeat("geheimnis", 1000)}},
			Notes: []archive.Note{{Text: "geheimnis"}},
		})
		made, err := s.ArchiveDocument(ctx, scan[0], store.Target{Folder: m, At: time.Unix(1, 0)})
		must(t, err)
		ids = append(ids, made)
	}
	indexed(t, s)
	claimed, err := s.Index.ClaimContents(ctx, store.Waiting, 10)
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	must(t, s.Index.AddText(ctx, claimed[0], "geheimnis im text", store.Read, ""))
	now := time.Unix(1_800_000_000, 0)
	for _, id := range ids {
		must(t, s.Trash.Put(ctx, s.Archive, id, store.Removal{Reason: "Art. 17", At: now, Due: now}))
		_, err := s.Trash.Begin(ctx, id, now)
		must(t, err)
		must(t, s.Trash.End(ctx, id))
	}
	must(t, s.Trash.Scrub(ctx))
	for _, name := range []string{file, file + "-wal"} {
		text, err := os.ReadFile(name)
		must(t, err)
		for _, word := range []string{"geheimnis", "heimnis"} {
			if n := bytes.Count(bytes.ToLower(text), []byte(word)); n > 0 {
				t.Errorf("%s has %q %d times", filepath.Base(name), word, n)
			}
		}
	}
}

func TestRetention(t *testing.T) { onEach(t, testRetention) }

func testRetention(t *testing.T, s opened) {
	ctx := t.Context()
	a := s.By("admin eve")
	m := folder(t, s, store.Folder{Name: "M"})
	bills := folder(t, s, store.Folder{Name: "Bills", Parent: m})
	year := folder(t, s, store.Folder{Name: "2020", Parent: bills})
	tray := folder(t, s, store.Folder{Name: "Tray", Inbox: true})
	archived := time.Date(2020, 6, 1, 0, 0, 0, 0, time.Local)
	ids := added(t, a,
		store.Document{Folder: year, Name: "bill", Digest: "d1", Archived: archived, Types: []string{"Rechnung"}},
		store.Document{Folder: m, Name: "letter", Archived: archived, Types: []string{"Brief"}},
		store.Document{Folder: m, Name: "none", Digest: "d2", Archived: archived},
		store.Document{Folder: tray, Name: "scan", Types: []string{"Brief"}})
	add := func(r store.Retention) int64 {
		t.Helper()
		id, err := s.Trash.AddRetention(ctx, a, r)
		must(t, err)
		return id
	}
	rule := add(store.Retention{Name: "bills", Months: 120, Folder: bills})
	add(store.Retention{Name: "letters", Months: 72, Type: "brief"})
	add(store.Retention{Name: "short", Days: 10, Type: "Rechnung"})
	if _, err := s.Trash.AddRetention(ctx, a, store.Retention{Name: "x", Months: 1, Folder: 4711}); archive.KindOf(err) != archive.KindNotFound {
		t.Errorf("an unknown folder: %v", err)
	}
	at := func(year int) store.Removal {
		now := time.Date(year, 6, 2, 0, 0, 0, 0, time.Local)
		return store.Removal{Reason: "r", At: now, Due: now}
	}
	for _, c := range []struct {
		what string
		id   archive.ID
		when store.Removal
		says string
	}{
		{"a bill", ids[0], at(2029), "retained until 2030-06-01 (bills 10y)"},
		{"a letter", ids[1], at(2025), "retained until 2026-06-01 (letters 6y, type brief)"},
		{"a letter, later", ids[1], at(2026), ""},
		{"no rule", ids[2], at(2020), ""},
		{"a scan", ids[3], at(2020), ""},
	} {
		err := s.Trash.Put(ctx, a, c.id, c.when)
		if c.says == "" && err != nil || c.says != "" && (archive.KindOf(err) != archive.KindForbidden || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	// The law goes before the retention, and a rule that is younger than the removal holds a document, too.
	law := at(2021)
	law.Law = true
	must(t, s.Trash.Put(ctx, a, ids[0], law))
	add(store.Retention{Name: "all", Months: 240})
	for id, want := range map[archive.ID]bool{ids[0]: true, ids[2]: false} {
		err := s.Trash.Expire(ctx, a, id, at(2027).At)
		if want != (err == nil) || !want && archive.KindOf(err) != archive.KindForbidden {
			t.Errorf("document %d expires: %v", id, err)
		}
		digest, err := s.Trash.Begin(ctx, id, at(2027).At)
		if err != nil || (digest != "") != want {
			t.Errorf("document %d: %q, %v", id, digest, err)
		}
	}
	due, err := s.Trash.Due(ctx, at(2039).At, 10)
	must(t, err)
	for _, d := range due {
		if d.ID == ids[2] {
			t.Errorf("due before its term: %+v", d)
		}
	}
	must(t, s.Trash.RemoveRetention(ctx, a, rule))
	if err := s.Trash.RemoveRetention(ctx, a, rule); archive.KindOf(err) != archive.KindNotFound {
		t.Errorf("removed twice: %v", err)
	}
	rules, err := s.Trash.Retentions(ctx, store.DefaultTenant)
	must(t, err)
	if len(rules) != 3 || rules[0].Name != "all" || rules[0].Term() != "20y" || rules[2].Term() != "10d" {
		t.Errorf("the rules are %+v", rules)
	}
	trail, err := s.Trail(ctx, 0, 100)
	must(t, err)
	lines := trailLines(trail)
	for _, want := range []string{"admin eve: add-retention:  -> bills 10y", "admin eve: remove-retention: bills 10y -> "} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is not in the audit trail %q", want, lines)
		}
	}
}

// A copy in a database of the other engine can restore what is in the trash.
func TestTrashOfACopy(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "archive.db"))
			if engine == "postgres" {
				s = openURL(t, pgtest.Database(t))
			}
			ctx := t.Context()
			m := folder(t, s, store.Folder{Name: "M"})
			ids := added(t, s, store.Document{
				Folder: m, Name: "d", Archived: time.Unix(1, 0), Digest: "d", AutoExport: true, Notes: []archive.Note{{Text: "n"}},
			})
			want, err := s.Document(ctx, ids[0])
			must(t, err)
			must(t, s.Trash.Put(ctx, s.Archive, ids[0], store.Removal{Reason: "r", At: time.Unix(1, 0), Due: time.Unix(2, 0), Law: true}))
			other := open(t, copied(t, s.Store))
			if engine == "sqlite" {
				other = openURL(t, filled(t, copied(t, s.Store)))
			}
			must(t, other.Trash.Restore(ctx, other.Archive, ids[0]))
			got, err := other.Document(ctx, ids[0])
			notes, _, failed := other.Annotations(ctx, ids[0])
			if err != nil || failed != nil || !reflect.DeepEqual(got, want) || len(notes) != 1 {
				t.Errorf("restored as %+v with %v, %v; want %+v", got, notes, errors.Join(err, failed), want)
			}
		})
	}
}
