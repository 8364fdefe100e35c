package server

import (
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

func TestSeed(t *testing.T) {
	ctx := t.Context()
	s, err := Open(ctx, Options{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if empty, err := s.Empty(ctx); err != nil || !empty {
		t.Fatalf("a new archive: empty %v, %v", empty, err)
	}
	mandator, err := s.AddMandator(ctx, "Muster GmbH")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddMandator(ctx, "Muster GmbH"); archive.KindOf(err) != archive.KindConflict {
		t.Errorf("the same mandator twice: %v, want a conflict", err)
	}
	folder, err := s.AddFolder(ctx, mandator, "Rechnungen")
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := s.AddInbox(ctx, 7, "Administrator")
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2023, 11, 22, 14, 14, 29, 0, time.Local)
	id, err := s.AddDocument(ctx, NewDocument{
		Folder: folder, Name: "Rechnung 1", Created: day, Archived: day, Keywords: []string{"a"},
		Metadata: []archive.KeyValue{{Key: "k", Value: "v"}}, Notes: []archive.Note{{Text: "paid"}},
	}, strings.NewReader("text"))
	if err != nil || id == 0 {
		t.Fatalf("add document: %d, %v", id, err)
	}
	if _, err := s.AddDocument(ctx, NewDocument{Folder: inbox, Name: "scan", Created: day, Archived: day},
		strings.NewReader("x")); archive.KindOf(err) != archive.KindConflict {
		t.Errorf("an archived document in an inbox: %v, want a conflict", err)
	}
	if empty, err := s.Empty(ctx); err != nil || empty {
		t.Errorf("after seeding: empty %v, %v", empty, err)
	}
	notes, _, err := s.catalog.Annotations(ctx, id)
	if err != nil || len(notes) != 1 || notes[0].Text != "paid" {
		t.Errorf("notes %v, %v", notes, err)
	}
}
