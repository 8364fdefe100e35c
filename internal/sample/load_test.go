package sample

import (
	"context"
	"errors"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// TestLoad loads twice concurrently, to detect shared state, and checks the results.
func TestLoad(t *testing.T) {
	r, again := newRecorder(), newRecorder()
	var summary, summaryAgain Summary
	var g errgroup.Group
	g.Go(func() (err error) {
		summary, err = Load(t.Context(), r)
		return err
	})
	g.Go(func() (err error) {
		summaryAgain, err = Load(t.Context(), again)
		return err
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Run("counts", func(t *testing.T) { testCounts(t, r, summary) })
	t.Run("tree", func(t *testing.T) { testTree(t, r) })
	t.Run("names", func(t *testing.T) { testNames(t, r) })
	t.Run("dates", func(t *testing.T) { testDates(t, r) })
	t.Run("attributes", func(t *testing.T) { testAttributes(t, r) })
	t.Run("PDF", func(t *testing.T) { testPDFs(t, r) })
	t.Run("images", func(t *testing.T) { testImages(t, r) })
	t.Run("e-mails", func(t *testing.T) { testMails(t, r) })
	t.Run("workbooks", func(t *testing.T) { testSheets(t, r) })
	t.Run("repeatable", func(t *testing.T) {
		if summaryAgain != summary {
			t.Errorf("second run loaded %+v, first %+v", summaryAgain, summary)
		}
		if again.sum() != r.sum() {
			t.Error("second run loaded other names, data or bytes")
		}
	})
}

func testCounts(t *testing.T, r *recorder, summary Summary) {
	want := Summary{Mandators: 2, Inboxes: 3, Documents: len(r.documents)}
	want.Folders = len(r.paths) - want.Mandators - want.Inboxes
	for _, d := range r.documents {
		if len(d.content) == 0 {
			t.Errorf("%s is empty", d.path)
		}
		want.Bytes += int64(len(d.content))
	}
	if summary != want {
		t.Errorf("summary %+v, the target got %+v", summary, want)
	}
	if summary.Folders < 35 || summary.Folders > 50 {
		t.Errorf("%d folders, want about 40", summary.Folders)
	}
	if summary.Documents < 280 || summary.Documents > 320 {
		t.Errorf("%d documents, want about 300", summary.Documents)
	}
	if summary.Bytes < 10<<20 || summary.Bytes > 40<<20 {
		t.Errorf("%d bytes, want between 10 and 40 MiB", summary.Bytes)
	}
}

func testTree(t *testing.T, r *recorder) {
	if want := []string{"Muster GmbH", "Bäckerei Körner e.K."}; !slices.Equal(r.mandators, want) {
		t.Errorf("mandators %q, want %q", r.mandators, want)
	}
	if want := map[string]int64{"Administrator": 1, "Erika Mustermann": 2, "Scanner Empfang": 3}; !reflect.DeepEqual(r.inboxes, want) {
		t.Errorf("inboxes %v, want %v", r.inboxes, want)
	}
	have := make(map[string]bool)
	for _, p := range r.paths {
		have[p] = true
	}
	for _, d := range r.documents {
		have[d.path] = true
	}
	for _, p := range []string{
		"Muster GmbH/Rechnungen/2025/03-Mrz", "Muster GmbH/Zu prüfen", "Bäckerei Körner e.K./Öffentlichkeit",
		"Muster GmbH/Verträge/Miete und Leasing/Mietvertrag Lagerhalle Süd.pdf",
		"inboxes/Administrator/scan-0001.pdf",
	} {
		if !have[p] {
			t.Errorf("%s is missing", p)
		}
	}
	filled := make(map[string]int)
	for _, d := range r.documents {
		if d.waiting {
			filled[path.Dir(d.path)]++
		}
	}
	if len(filled) != len(r.inboxes) {
		t.Errorf("documents wait in %v, want some in each of %v", filled, r.inboxes)
	}
}

// testNames looks for each kind of name that makes work for a file system.
func testNames(t *testing.T, r *recorder) {
	count := make(map[string]int)
	for _, d := range r.documents {
		count[d.path]++
	}
	for _, c := range []struct {
		kind string
		is   func(d recorded) bool
	}{
		{"twice in a folder", func(d recorded) bool { return count[d.path] > 1 }},
		{"without extension", func(d recorded) bool { return path.Ext(d.Name) == "" }},
		{"with a slash", func(d recorded) bool { return d.Name == "Angebot 12/2024.pdf" }},
		{"longer than 255 bytes", func(d recorded) bool { return len(d.Name) > 255 }},
		{"with an umlaut", func(d recorded) bool { return strings.ContainsAny(d.Name, "äöüÄÖÜß") }},
		{"with a blank", func(d recorded) bool { return strings.Contains(d.Name, " ") }},
		{"with a colon", func(d recorded) bool { return strings.Contains(d.Name, ":") }},
	} {
		if !slices.ContainsFunc(r.documents, c.is) {
			t.Errorf("no document name %s", c.kind)
		}
	}
}

func testDates(t *testing.T, r *recorder) {
	for _, d := range r.documents {
		if y := d.Created.Year(); y < 2018 || y > 2026 || d.Created.Location() != time.UTC {
			t.Errorf("%s: created %v", d.path, d.Created)
		}
		if d.waiting != d.Archived.IsZero() {
			t.Errorf("%s: archived %v", d.path, d.Archived)
		}
		if !d.Archived.IsZero() && !d.Archived.After(d.Created) {
			t.Errorf("%s: archived %v before it was created %v", d.path, d.Archived, d.Created)
		}
	}
}

func testAttributes(t *testing.T, r *recorder) {
	var exported, noted, commas int
	stamps, ids := make(map[string]int), make(map[string]bool)
	for _, d := range r.documents {
		if d.AutoExport {
			exported++
		}
		noted += len(d.Notes)
		for _, s := range d.Stamps {
			stamps[s.Title]++
		}
		if d.ExternalID != "" && ids[d.ExternalID] {
			t.Errorf("%s: external id %q is not the only one", d.path, d.ExternalID)
		}
		ids[d.ExternalID] = true
		if slices.ContainsFunc(d.Keywords, func(k string) bool { return strings.Contains(k, ",") }) {
			commas++
		}
		if !d.waiting && slices.Contains(d.Types, "Eingangsrechnung") {
			testInvoice(t, d)
		}
	}
	if exported < 5 || noted < 5 || stamps["Bezahlt"] < 5 || stamps["Geprüft"] < 5 || len(ids) < 5 || commas == 0 {
		t.Errorf("auto-export %d, notes %d, stamps %v, external ids %d, keywords with a comma %d: want some of each",
			exported, noted, stamps, len(ids), commas)
	}
}

func testInvoice(t *testing.T, d recorded) {
	var keys []string
	for _, m := range d.Metadata {
		if m.Value == "" {
			t.Errorf("%s: %s is empty", d.path, m.Key)
		}
		keys = append(keys, m.Key)
	}
	want := []string{"Rechnungsnummer", "Betrag", "Lieferant", "Belegdatum", "Kostenstelle"}
	if !slices.Equal(keys, want) || len(d.Keywords) == 0 {
		t.Errorf("%s: metadata %q, keywords %q", d.path, keys, d.Keywords)
	}
}

func TestLoadStopsAtAnError(t *testing.T) {
	cause := errors.New("disk full")
	for _, c := range []struct {
		failAt string
		want   Summary // nothing has bytes in it before the first document
	}{
		{"mandator", Summary{}},
		{"folder", Summary{Mandators: 1}},
		{"document", Summary{Mandators: 1, Folders: 2}},
	} {
		t.Run(c.failAt, func(t *testing.T) {
			r := newRecorder()
			r.failAt, r.failWith = c.failAt, cause
			got, err := Load(t.Context(), r)
			if !errors.Is(err, cause) {
				t.Errorf("error %v, want one that wraps %v", err, cause)
			}
			if got != c.want {
				t.Errorf("summary %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestLoadStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newRecorder()
	if _, err := Load(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if len(r.documents) != 0 {
		t.Errorf("%d documents were added after the end", len(r.documents))
	}
}
