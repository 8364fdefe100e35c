package store_test

import (
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// holding adds a document for each content, in an inbox, called like it.
func holding(t testing.TB, s archiver, inbox archive.ID, contents ...string) []archive.ID {
	t.Helper()
	documents := make([]store.Document, 0, len(contents))
	for _, content := range contents {
		documents = append(documents, store.Document{Folder: inbox, Name: content, Digest: fmt.Sprintf("%064s", content), ContentType: "text/plain", Size: 7})
	}
	ids, err := s.AddDocuments(t.Context(), documents, false)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func claim(t testing.TB, s opened, limit int) []store.Unindexed {
	t.Helper()
	claimed, err := s.Index.ClaimContents(t.Context(), store.Waiting, limit)
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

// read adds texts to the index, by the names of contents.
func read(t testing.TB, s opened, texts map[string]string) {
	t.Helper()
	for _, u := range claim(t, s, 100) {
		if err := s.Index.AddText(t.Context(), u, texts[strings.TrimLeft(u.Digest, "0 ")], store.Read, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// Every engine finds the same words in contents.
func TestWhatContentsMatch(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		inbox := folder(t, s, store.Folder{Name: "I", Inbox: true})
		texts := map[string]string{
			"de":   "Sehr geehrte Frau Müller,\ndie Häuser in der Hauptstraße 7 wurden am 3.5.2024 verkauft. Rechnungsnummer: 2024-0815/E; offene Beträge 1.234,50 €.",
			"en":   "The invoices were paid by O'Neill & Sons. It's running (again): foo_bar don't.",
			"more": "Straßenbahn Mueller \x01 'quoted' \"double\" \\backslash: * ( ) OR NOT NEAR",
			"long": strings.Repeat("lorem ipsum ", 20_000) + "omega psi",
			"cut":  strings.Repeat("dolor sit ", 110_000) + "unreachable",
			"junk": strings.Repeat("x", 5000) + " kept",
			"none": "",
		}
		names := []string{"de", "en", "more", "long", "cut", "junk", "none"}
		holding(t, s, inbox, names...)
		read(t, s, texts)
		for text, want := range map[string][]string{
			"müller": {"de", "more"}, "MULLER": {"de"}, "Mueller": {"de", "more"},
			"hauptstraße": {"de"}, "HAUPTSTRASSE": {"de"}, "haupt": {"de"}, "straße": {"more"}, "ha": {}, "häuser": {"de"},
			"haus": {"de"}, "hauses": {"de"}, "Betrag": {"de"}, "betrages": {"de"}, "invoice": {"en"}, "invoicing": {"en"}, "run": {"en"}, "runs": {"en"},
			"geehrte frau": {"de"}, "frau geehrte": {}, "Frau Mül": {"de"}, "frau m": {}, "2024-0815/E": {"de"}, "0815 2024": {}, "3.5.2024": {"de"}, "1.234,50": {"de"},
			"o'neill": {"en"}, "neill & sons": {"en"}, "foo_bar": {"en"}, "bar": {"en"}, "don't": {"en"}, "7": {"de"}, "'quoted": {"more"},
			`double" \back`: {"more"}, "*": {}, "OR NOT": {"more"}, "near": {"more"}, "lorem ipsum": {"long"}, "omega": {"long"}, "unreachable": {},
			"dolor sit dolor": {"cut"}, "xxxxx": {}, "kept": {"junk"}, "quote": {"more"},
		} {
			slices.Sort(want)
			if got := found(t, s, s.Archive, store.Search{All: []string{text}}); !slices.Equal(got, want) {
				t.Errorf("%q is found in %q, want %q", text, got, want)
			}
		}
		for _, test := range []struct {
			q    store.Search
			want []string
		}{
			{store.Search{All: []string{"häuser", "de"}}, []string{"de"}},
			{store.Search{One: []string{"invoice", "omega"}}, []string{"en", "long"}},
			{store.Search{None: []string{"e", "invoice", "omega", "kept", "dolor"}}, []string{}},
			{store.Search{None: []string{"müller", "invoice", "omega"}}, []string{"cut", "junk", "none"}},
			{store.Search{Name: []string{"invoice"}}, []string{}},
		} {
			if got := found(t, s, s.Archive, test.q); !slices.Equal(got, test.want) {
				t.Errorf("%+v finds %q, want %q", test.q, got, test.want)
			}
		}
	})
}

// A content is read once, however many documents have it, stays as long as one has it, and is
// found by their tenants alone.
func TestContentsAreReadOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx := t.Context()
		inbox, m := folder(t, s, store.Folder{Name: "I", Inbox: true}), folder(t, s, store.Folder{Name: "M"})
		id, err := s.AddTenant(ctx, "other", "")
		if err != nil {
			t.Fatal(err)
		}
		other := s.Tenant(id)
		tray := folder(t, other, store.Folder{Name: "I", Inbox: true})
		ids := holding(t, s, inbox, "a", "b")
		theirs := holding(t, other, tray, "b", "c")
		if waiting := claim(t, s, 100); len(waiting) != 3 {
			t.Errorf("%d contents wait", len(waiting))
		} else {
			for _, u := range waiting {
				if err := s.Index.AddText(ctx, u, "word of "+u.Digest[63:], store.Read, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := func(what string, mine, others int) {
			t.Helper()
			for who, n := range map[store.Archive]int{s.Archive: mine, other: others} {
				for _, q := range []store.Search{{All: []string{"word"}}, {One: []string{"word", "nothing"}}} {
					if found, err := who.Search(ctx, q); err != nil || len(found) != n {
						t.Errorf("%s: found %v, %v, want %d", what, found, err, n)
					}
				}
			}
		}
		want("all read", 2, 2)
		holding(t, s, inbox, "b")
		want("a further document", 3, 2)
		if _, err := s.ArchiveDocument(ctx, ids[0], store.Target{Folder: m, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		want("archived", 3, 2)
		if _, err := other.DeleteDocument(ctx, theirs[0]); err != nil {
			t.Fatal(err)
		}
		want("one of several removed", 3, 1)
		if _, err := other.ReplaceContent(ctx, theirs[1], store.Content{Digest: fmt.Sprintf("%064s", "d"), ContentType: "text/plain"}); err != nil {
			t.Fatal(err)
		}
		want("replaced", 3, 0)
		backlog, err := s.Index.Texts(ctx)
		if err != nil || !maps.Equal(backlog, map[store.Reading]int64{store.Waiting: 1, store.Read: 2}) {
			t.Errorf("%+v, %v", backlog, err)
		}
		read(t, s, map[string]string{"d": "word"})
		want("the new one read", 3, 1)
	})
}

// A text that cannot be extracted is tried some times, and then given up with the reason.
func TestContentsThatFail(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx := t.Context()
		holding(t, s, folder(t, s, store.Folder{Name: "I", Inbox: true}), "a", "b", "c")
		claimed := claim(t, s, 2)
		if rest := claim(t, s, 9); len(claimed) != 2 || len(rest) != 1 || len(claim(t, s, 9)) != 0 {
			t.Fatal("what is in hand is claimed by nobody else", claimed, rest)
		} else if err := s.Index.Release(ctx, rest[0], "", time.Now()); err != nil {
			t.Fatal(err)
		}
		if again := claim(t, s, 9); len(again) != 1 || again[0].Attempts != 1 {
			t.Errorf("what was given back is %+v", again)
		}
		final := claimed[0]
		if err := s.Index.PutOff(ctx, final, "broken"); err != nil {
			t.Fatal(err)
		}
		if len(claim(t, s, 9)) != 0 {
			t.Error("what was put off is claimed at once")
		}
		reasons, err := s.Index.Unread(ctx, "", 9)
		if err != nil || !slices.Equal(reasons, []store.Reason{{Digest: final.Digest, State: store.Waiting, Text: "broken"}}) {
			t.Errorf("%+v, %v", reasons, err)
		}
		if err := s.Index.AddText(ctx, final, "word", store.Read, ""); err != nil { // its attempt is still the last one
			t.Fatal(err)
		}
		left := claimed[1]
		if err := s.Index.Release(ctx, left, "", time.Now()); err != nil {
			t.Fatal(err)
		}
		left.Attempts = 3
		if err := s.Index.PutOff(ctx, left, "it is not in hand"); err != nil {
			t.Fatal(err)
		}
		backlog, err := s.Index.Texts(ctx)
		if err != nil || !maps.Equal(backlog, map[store.Reading]int64{store.Waiting: 2, store.Read: 1}) {
			t.Errorf("%+v, %v", backlog, err)
		}
		if found, err := s.Search(ctx, store.Search{All: []string{"word"}}); err != nil || len(found) != 1 {
			t.Errorf("found %v, %v", found, err)
		}
	})
}

// A content that was put off while the clock was far ahead does not wait until then.
func TestContentsOfAnotherTime(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		holding(t, s, folder(t, s, store.Folder{Name: "I", Inbox: true}), "a", "b")
		for i, u := range claim(t, s, 2) {
			then := time.Now().AddDate(10*i, 0, 0).Add(time.Hour)
			if err := s.Index.Release(t.Context(), u, "the clock", then); err != nil {
				t.Fatal(err)
			}
		}
		if again := claim(t, s, 2); len(again) != 1 || again[0].Digest != fmt.Sprintf("%064s", "b") {
			t.Errorf("claimed %+v", again)
		}
	})
}

// A content is given up after three attempts, whether they failed or killed the process.
func TestContentsAreGivenUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "archive.db")
	s := open(t, file)
	holding(t, s, folder(t, s, store.Folder{Name: "I", Inbox: true}), "a", "b")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for attempt := range 3 {
		claimed := claim(t, s, 9)
		if len(claimed) != 2 || claimed[0].Attempts != attempt+1 {
			t.Fatalf("%+v", claimed)
		}
		if err := s.Index.PutOff(t.Context(), claimed[0], "broken"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE content SET due = id"); err != nil { // long ago
			t.Fatal(err)
		}
	}
	if claimed := claim(t, s, 9); len(claimed) != 0 {
		t.Errorf("claimed %+v", claimed)
	}
	reasons, err := s.Index.Unread(t.Context(), "", 9)
	if err != nil || len(reasons) != 2 || reasons[0].State != store.Unreadable || reasons[0].Text != "broken" || reasons[1].State != store.Unreadable || !strings.Contains(reasons[1].Text, "ended") {
		t.Errorf("%+v, %v", reasons, err)
	}
}

// Instances share the work: no content is claimed by two.
func TestInstancesShareContents(t *testing.T) {
	url := pgtest.Database(t)
	one, two := openURL(t, url), openURL(t, url)
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprint("c", i)
	}
	holding(t, one, folder(t, one, store.Folder{Name: "I", Inbox: true}), names...)
	type claims struct {
		of  []store.Unindexed
		err error
	}
	all := make(chan claims)
	for i := range 8 {
		s := []opened{one, two}[i%2]
		go func() {
			of, err := s.Index.ClaimContents(t.Context(), store.Waiting, 5)
			all <- claims{of, err}
		}()
	}
	seen := map[string]bool{}
	for range 8 {
		c := <-all
		if c.err != nil {
			t.Error(c.err)
		}
		for _, u := range c.of {
			if seen[u.Digest] {
				t.Errorf("%s is in hand twice", u.Digest)
			}
			seen[u.Digest] = true
		}
	}
	for _, u := range claim(t, two, 100) {
		seen[u.Digest] = true
	}
	if len(seen) != len(names) {
		t.Errorf("%d of %d contents were claimed", len(seen), len(names))
	}
}
