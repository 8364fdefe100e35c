package spool

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

func receiptsIn(t testing.TB, path string) (list []Receipt) {
	t.Helper()
	for line := range strings.Lines(readFile(path)) {
		var r Receipt
		if err := json.Unmarshal([]byte(line), &r); err == nil {
			list = append(list, r)
		}
	}
	return list
}

func TestReceiptForWhatWasConfirmedAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.jsonl")
	log := func(o *Options) { o.Receipts = path }
	s, _ := open(t, t.TempDir(), log)
	f := newFake(outcome{commit: true}, outcome{err: kindErr(archive.KindForbidden)})
	r := lateBill()
	r.Path = "Muster GmbH/Mahnungen"
	u := committed(t, s, r, billBytes)
	_, err := Deliver(t.Context(), u, f, nil)
	must(t, err)
	if _, err := Deliver(t.Context(), committed(t, s, r, billBytes), f, nil); err == nil {
		t.Fatal("a refused upload succeeded")
	}
	list := receiptsIn(t, path)
	if len(list) != 1 {
		t.Fatalf("%d receipts", len(list))
	}
	got := list[0]
	want := Receipt{
		Time: u.Record().Changed, Upload: u.ID(), Path: "Muster GmbH/Mahnungen/Mahnung.pdf",
		Size: int64(len(billBytes)), SHA256: sum(billBytes), Document: "101",
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
}

// TestReceiptAfterACrash: a line that was cut off does not spoil the next, and what was
// confirmed without one gets it.
func TestReceiptAfterACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.jsonl")
	log := func(o *Options) { o.Receipts = path }
	dir := t.TempDir()
	s, _ := open(t, dir)
	u := committed(t, s, lateBill(), billBytes)
	_, err := Deliver(t.Context(), u, newFake(), nil)
	must(t, err)
	must(t, os.WriteFile(path, []byte(`{"time":"2024-`), 0o600))
	s = reopen(t, s, log)
	list := receiptsIn(t, path)
	if len(list) != 1 || list[0].Upload != u.ID() || list[0].Document != "101" {
		t.Fatalf("%+v", list)
	}
	if docs, err := ReceiptsSince(path, 0); err != nil || len(docs) != 1 || docs[u.ID()] != 101 {
		t.Fatalf("documents %v, %v", docs, err)
	}
	info, err := os.Stat(path)
	must(t, err)
	if docs, err := ReceiptsSince(path, info.Size()); err != nil || len(docs) != 0 {
		t.Fatalf("since then: documents %v, %v", docs, err)
	}
	must(t, again(t, s, u).Remove())
	reopen(t, s, log)
	if n := len(receiptsIn(t, path)); n != 1 {
		t.Fatalf("%d receipts", n)
	}
}

// An e-mail becomes several documents, and its receipt names all; of other files the service is asked nothing.
func TestReceiptOfAnEmailNamesAllItsDocuments(t *testing.T) {
	for _, tc := range []struct {
		name       string
		file       string
		queue      bool
		processing int
		want       []json.Number
		asked      int
	}{
		{"told at once", "Angebot.eml", false, 0, []json.Number{"102"}, 1},
		{"while somebody waits", "Angebot.eml", false, 2, nil, 1},
		{"still processed", "Angebot.eml", true, 2, []json.Number{"102"}, 3},
		{"never told", "Angebot.eml", true, 1000, nil, mostAsked + 2},
		{"no e-mail", "Angebot.pdf", true, 0, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "receipts.jsonl")
			s, _ := open(t, t.TempDir(), func(o *Options) { o.Receipts = path })
			f := newFake()
			f.split, f.processing = true, tc.processing
			r := lateBill()
			r.Name = tc.file
			_, err := DeliverWith(t.Context(), committed(t, s, r, billBytes), f, nil, Policy{RetryFor: time.Second, Queue: tc.queue})
			must(t, err)
			got := receiptsIn(t, path)
			if len(got) != 1 || got[0].Document != "101" || !slices.Equal(got[0].UploadedWith, tc.want) || f.asked != tc.asked {
				t.Errorf("%+v after %d questions", got, f.asked)
			}
			if tc.processing > mostAsked { // the next e-mail waits for nothing
				_, err := DeliverWith(t.Context(), committed(t, s, r, billBytes), f, nil, Policy{RetryFor: time.Second, Queue: true})
				must(t, err)
				if f.asked != tc.asked+1 {
					t.Errorf("%d questions for another one", f.asked-tc.asked)
				}
			}
		})
	}
}
