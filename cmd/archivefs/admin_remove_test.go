package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

// filled is the archive of an administrator with two documents, which no service uses.
func filledForRemoval(t *testing.T) (a administrator, ids []string) {
	t.Helper()
	isolate(t)
	a = administrator{t, t.TempDir()}
	s, err := server.Open(t.Context(), server.Options{Data: a.dir})
	if err != nil {
		t.Fatal(err)
	}
	add := func(folder archive.ID, name string) {
		t.Helper()
		at := time.Now().AddDate(-1, 0, 0)
		id, err := s.AddDocument(t.Context(), server.NewDocument{Folder: folder, Name: name, Created: at, Archived: at, Types: []string{"Brief"}}, strings.NewReader(name))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strconv.FormatInt(int64(id), 10))
	}
	mandator, err := s.AddMandator(t.Context(), "Muster GmbH")
	if err != nil {
		t.Fatal(err)
	}
	bills, err := s.AddFolder(t.Context(), mandator, "Rechnungen")
	if err != nil {
		t.Fatal(err)
	}
	add(bills, "bill\x1b.txt")
	add(mandator, "letter.txt")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return a, ids
}

func TestAdminRemove(t *testing.T) {
	a, ids := filledForRemoval(t)
	bill, letter := ids[0], ids[1]
	a.says(2, "admin remove needs ID...", "remove")
	a.says(2, "admin remove needs --reason TEXT", "remove", bill)
	a.says(2, "--reason: say why", "remove", bill, "--reason= ")
	a.says(2, `"x" is no id`, "remove", "x", "--reason=r")
	a.says(2, "--term: a term is a number of days, months or years", "remove", bill, "--reason=r", "--term=soon")
	a.says(2, "--term: a term has at most 1000 years", "remove", bill, "--reason=r", "--term=1001y")
	a.says(1, "there is no document 4711", "remove", letter, "4711", "--reason=r")
	a.wantNone("the trash is empty", "trash", "list")
	a.says(1, "there is no document "+bill+" in the trash", "trash", "restore", bill)
	a.says(2, "needs the IDs of documents, or --all", "trash", "empty")
	a.says(2, "--all: it goes without IDs", "trash", "empty", "--all", bill)

	a.says(0, "moved 2 documents into the trash", "remove", bill, letter, "--reason", "uploaded twice", "--term", "1y")
	rows := a.lines("trash", "list")
	if len(rows) != 3 || rows[1][0] != bill || !strings.Contains(strings.Join(rows[1], " "), `/Muster GmbH/Rechnungen/bill\x1b.txt uploaded twice`) {
		t.Errorf("the trash is %q", rows)
	}
	trash := decoded[[]server.Trashed](a, "trash", "list")
	if len(trash) != 2 || trash[0].Due.Sub(trash[0].Removed) < 364*24*time.Hour || trash[0].Law || !strings.HasPrefix(trash[0].Who, "admin ") {
		t.Errorf("the trash is %+v", trash)
	}
	a.says(1, "document "+bill+" is in the trash already, since "+rows[1][1], "remove", bill, "--reason=r")
	a.says(0, "restored 1 document", "trash", "restore", letter)
	a.says(0, "erased 1 document", "trash", "empty", "--all") // no service runs
	a.wantNone("the trash is empty", "trash", "list")
	a.says(0, "all is well", "verify")
	a.says(1, "there is no document "+bill, "remove", bill, "--reason=r")
}

func TestAdminRetention(t *testing.T) {
	a, ids := filledForRemoval(t)
	bill, letter := ids[0], ids[1]
	a.wantNone("there is no retention rule", "retention", "list")
	a.says(2, "TERM: a term is a number", "retention", "add", "bills", "long")
	a.says(2, "a retention class has a name", "retention", "add", "bills", "0d")
	a.says(1, "Nichts", "retention", "add", "bills", "10y", "--folder", "Muster GmbH/Nichts")
	a.says(0, "added retention rule 1", "retention", "add", "bills", "10y", "--folder", "/Muster GmbH/Rechnungen/")
	a.says(0, "added retention rule 2", "retention", "add", "letters", "18m", "--type", "brief")
	rows := a.lines("retention", "list")
	if len(rows) != 3 || strings.Join(rows[1], " ") != "1 bills 10y Muster GmbH/Rechnungen -" || strings.Join(rows[2], " ") != "2 letters 18m - brief" {
		t.Errorf("the rules are %q", rows)
	}
	if rules := decoded[[]server.Retention](a, "retention", "list"); len(rules) != 2 || rules[0].Folder != "Muster GmbH/Rechnungen" {
		t.Errorf("the rules are %+v", rules)
	}
	a.says(1, "is retained until", "remove", letter, "--reason=r")
	a.says(0, "", "retention", "remove", "2")
	a.says(1, "there is no retention rule 2", "retention", "remove", "2")
	a.says(0, "moved 1 document", "remove", letter, "--reason=r")
	a.says(1, "(bills 10y); only an erasure by law goes before that", "remove", bill, "--reason=r")
	a.says(0, "moved 1 document", "remove", bill, "--reason=GDPR, article 17", "--erasure-by-law")
	a.says(0, "added retention rule 3", "retention", "add", "all", "30y")
	a.says(1, "is retained until", "trash", "empty", "--all") // the letter is, since it was removed
	a.says(0, "erased 1 document", "trash", "empty", bill)
	if trash := decoded[[]server.Trashed](a, "trash", "list"); len(trash) != 1 || strconv.FormatInt(int64(trash[0].ID), 10) != letter {
		t.Errorf("the trash is %+v", trash)
	}
}
