package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A look ends with the first document that the service does not answer for: each of the
// others would take as long.
func TestALookDoesNotWaitForEveryDocument(t *testing.T) {
	hangs := kindErr(archive.KindTimeout)
	f := newFake()
	f.data = slices.Repeat([]error{hangs}, 40)
	f.script = []outcome{{err: kindErr(archive.KindInterrupted), then: func() {
		for range 20 {
			f.addLocked(7, "Mahnung.pdf", "", []byte("other bytes"), 0)
		}
	}}}
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	_, err := Deliver(t.Context(), u, f, nil)
	if asked := 40 - len(f.data); !errors.Is(err, hangs) || asked > f.listed {
		t.Errorf("asked for %d documents in %d looks: %v", asked, f.listed, err)
	}
}

// TestOwnExternalID: an id of the user's own may be on other documents too, so it counts
// only together with the content.
func TestOwnExternalID(t *testing.T) {
	lost := kindErr(archive.KindInterrupted)
	tests := []struct {
		name    string
		commit  bool
		another string // a document of that id and name that came meanwhile, if any
		change  func(*fakeArchive)
		state   State
		sends   int
	}{
		{name: "id and content", commit: true, state: Confirmed, sends: 1},
		{name: "id with other content", another: "other bytes", state: Confirmed, sends: 2},
		{name: "both there", commit: true, another: "other bytes", state: Confirmed, sends: 1},
		{
			name: "content not readable", commit: true, state: Lost, sends: 1,
			change: func(f *fakeArchive) { f.content = kindErr(archive.KindUnsupported) },
		},
		{
			name: "no id shown", commit: true, state: Lost, sends: 1,
			change: func(f *fakeArchive) { f.hideIDs = true },
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.script = []outcome{{commit: tc.commit, err: lost, then: func() {
				if tc.another != "" {
					f.addLocked(7, "Mahnung.pdf", "R-17", []byte(tc.another), 0)
				}
			}}}
			if tc.change != nil {
				tc.change(f)
			}
			s, _ := open(t, t.TempDir())
			r := lateBill()
			r.ExternalID = "R-17"
			u := committed(t, s, r, billBytes)
			id, err := Deliver(t.Context(), u, f, nil)
			copies := f.holding(billBytes)
			if u.Record().State != tc.state || f.sends() != tc.sends || len(copies) != 1 {
				t.Fatalf("%s after %d sends, %d copies: %v", u.Record().State, f.sends(), len(copies), err)
			}
			if tc.state == Confirmed && id != copies[0] {
				t.Fatalf("document %d, want %d", id, copies[0])
			}
			if got := f.sentIDs()[0]; got != "R-17" {
				t.Fatalf("sent external id %q", got)
			}
		})
	}
}

func TestAnotherDocumentOfThatNameIsNotTaken(t *testing.T) {
	for _, hide := range []bool{false, true} {
		f := newFake()
		f.hideIDs = hide
		f.script = []outcome{{err: kindErr(archive.KindTimeout), then: func() {
			f.addLocked(7, "Mahnung.pdf", "somebody-else", []byte("other bytes"), 0)
		}}}
		s, _ := open(t, t.TempDir())
		u := committed(t, s, lateBill(), billBytes)
		id, err := Deliver(t.Context(), u, f, nil)
		if copies := f.holding(billBytes); err != nil || len(copies) != 1 || id != copies[0] {
			t.Fatalf("ids hidden %v: document %d, %v, copies %v", hide, id, err, copies)
		}
	}
}

func TestSplitEMail(t *testing.T) {
	lost := kindErr(archive.KindInterrupted)
	for _, tc := range []struct {
		name  string
		hide  bool
		state State
	}{{"ids shown", false, Confirmed}, {"ids not shown", true, Lost}} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(outcome{commit: true, err: lost})
			f.hideIDs = tc.hide
			older := f.add(7, "Angebot", "", "older")
			f.split = true
			f.rename = func(name string) string { return strings.Replace(name, "Anfrage.eml", "Betreff der Nachricht", 1) }
			s, _ := open(t, t.TempDir())
			u := committed(t, s, Record{Folder: 7, Name: "Anfrage.eml", Attributes: archive.Attributes{EmailImportOrder: archive.EmailThenAttachments}}, billBytes)
			_, err := Deliver(t.Context(), u, f, nil)
			r := u.Record()
			if r.State != tc.state || f.sends() != 1 || len(f.holding(billBytes)) != 1 {
				t.Fatalf("%s after %d sends: %v", r.State, f.sends(), err)
			}
			if !r.Split || len(r.Baseline) != 1 || r.Baseline[0] != older {
				t.Fatalf("baseline %v of all documents", r.Baseline)
			}
		})
	}
}

func TestAnswerWithoutAnID(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fakeArchive)
		known  bool
	}{
		{"external id shown", func(*fakeArchive) {}, true},
		{"external id hidden, one new document", func(f *fakeArchive) { f.hideIDs = true }, true},
		{"no document data", func(f *fakeArchive) { f.noData = true }, true},
		{"two new documents, ids hidden", func(f *fakeArchive) {
			f.hideIDs = true
			f.script[0].then = func() { f.addLocked(7, "Mahnung.pdf", "", []byte("other"), 0) }
		}, true},
		{"two new documents of one content, ids hidden", func(f *fakeArchive) {
			f.hideIDs = true
			f.script[0].then = func() { f.addLocked(7, "Mahnung.pdf", "", []byte(billBytes), 0) }
		}, false},
		{"listing fails", func(f *fakeArchive) { f.lists = []error{nil, kindErr(archive.KindServer)} }, false},
		{"data fails", func(f *fakeArchive) { f.data = []error{kindErr(archive.KindServer)} }, false},
		{"listed late", func(f *fakeArchive) { f.script[0].late = 3 }, true},
		{"listed late, ids hidden", func(f *fakeArchive) { f.hideIDs, f.script[0].late = true, 3 }, true},
		{"listed late, others come first", func(f *fakeArchive) {
			f.script[0].late = 3
			f.script[0].then = func() { f.addLocked(7, "Mahnung.pdf", "somebody-else", []byte("other"), 0) }
		}, true},
		{"not listed for long", func(f *fakeArchive) { f.script[0].late = 1000 }, false},
		{"the number of a job", func(f *fakeArchive) { f.script[0].noID, f.script[0].job = false, 999_999 }, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(outcome{commit: true, noID: true})
			f.add(7, "Mahnung.pdf", "", "older")
			tc.change(f)
			s, _ := open(t, t.TempDir())
			u := committed(t, s, lateBill(), billBytes)
			id, err := Deliver(t.Context(), u, f, nil)
			wantState(t, u, Confirmed)
			want := archive.ID(0)
			if tc.known {
				want = f.holding(billBytes)[0]
			}
			if err != nil || id != want || f.sends() != 1 {
				t.Fatalf("document %d, %v after %d sends; want %d", id, err, f.sends(), want)
			}
		})
	}
}

// TestConfirmedWhileItsIDIsLookedFor: the archive has it, so the record says so before the
// first pause, and who is in a hurry does without the id.
func TestConfirmedWhileItsIDIsLookedFor(t *testing.T) {
	ctx, hurry := context.WithCancel(t.Context())
	f := newFake(outcome{commit: true, noID: true, late: 1000})
	var u *Upload
	s, c := open(t, t.TempDir())
	s.opts.Sleep = func(ctx context.Context, d time.Duration) error {
		if r := onRecord(t, s, u.ID()); r.State != Confirmed {
			t.Errorf("the disk says %s", r.State)
		}
		hurry()
		return c.sleep(ctx, d)
	}
	u = committed(t, s, lateBill(), billBytes)
	if id, err := Deliver(ctx, u, f, nil); err != nil || id != 0 {
		t.Fatalf("document %d, %v", id, err)
	}
	if f.listed != 2 || len(c.slept) != 0 {
		t.Fatalf("%d listings, slept %v", f.listed, c.slept)
	}
}

func TestReplace(t *testing.T) {
	lost := kindErr(archive.KindInterrupted)
	tests := []struct {
		name   string
		script []outcome
		change func(*fakeArchive)
		state  State
		sends  int
	}{
		{name: "accepted", script: []outcome{{commit: true}}, state: Confirmed, sends: 1},
		{name: "lost after the commit", script: []outcome{{commit: true, err: lost}}, state: Confirmed, sends: 1},
		{name: "lost before the commit", script: []outcome{{err: lost}}, state: Confirmed, sends: 2},
		{name: "refused", script: []outcome{{err: kindErr(archive.KindForbidden)}}, state: Lost, sends: 1},
		{
			name: "content not readable", script: []outcome{{commit: true, err: lost}}, state: Lost, sends: 1,
			change: func(f *fakeArchive) { f.content = kindErr(archive.KindUnsupported) },
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(tc.script...)
			doc := f.add(9, "scan.pdf", "", "old content")
			if tc.change != nil {
				tc.change(f)
			}
			s, _ := open(t, t.TempDir())
			u := committed(t, s, Record{Folder: 9, Inbox: true, Name: "scan.pdf", Replace: doc}, billBytes)
			id, err := Deliver(t.Context(), u, f, nil)
			if u.Record().State != tc.state || f.sends() != tc.sends || f.listed != 0 {
				t.Fatalf("%s after %d sends, %d listings: %v", u.Record().State, f.sends(), f.listed, err)
			}
			if tc.state == Confirmed && (err != nil || id != doc || len(f.holding(billBytes)) != 1) {
				t.Fatalf("document %d, %v", id, err)
			}
			if tc.state == Lost && (err == nil || u.Record().Reason == "") {
				t.Fatalf("%v, reason %q", err, u.Record().Reason)
			}
		})
	}
}

// TestReplacedDocumentIsGone: it ends as failed, with the reason, also in the queue; as a
// new document the file can be archived still.
func TestReplacedDocumentIsGone(t *testing.T) {
	lost := kindErr(archive.KindInterrupted)
	for name, script := range map[string][]outcome{"at once": nil, "after a doubtful end": {{err: lost}}} {
		for _, queue := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, queued %v", name, queue), func(t *testing.T) {
				f := newFake(script...)
				s, _ := open(t, t.TempDir())
				u := committed(t, s, Record{Folder: 9, Inbox: true, Name: "scan.pdf", Replace: 42}, billBytes)
				policy := Policy{RetryFor: time.Second, Attempts: 2, Queue: queue}
				_, err := DeliverWith(t.Context(), u, f, nil, policy)
				r := u.Record()
				if r.State != Lost || !strings.Contains(r.Reason, "document 42, which it replaces, is gone") || strings.Contains(r.Reason, `\n`) {
					t.Fatalf("%s, reason %q: %v", r.State, r.Reason, err)
				}
				must(t, u.Update(func(r *Record) { r.Replace = 0 }))
				must(t, u.Retry(false))
				if id, err := Deliver(t.Context(), u, f, nil); err != nil || len(f.holding(billBytes)) != 1 {
					t.Fatalf("as a new document: %d, %v", id, err)
				}
			})
		}
	}
}

func TestSameName(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"Mahnung.pdf", "Mahnung.pdf", true},
		{"Mahnung.pdf", "mahnung.PDF", true},
		{"Mahnung.pdf", "Mahnung", true},
		{"Rechnung 1.5.pdf", "Rechnung 1.5", true},
		{"Rechnung 1.5", "Rechnung 1.5.pdf", true},
		{" Brief  17.pdf", "Brief 17.pdf", true},
		{"Prüfung.pdf", "Pru\u0308fung.pdf", true},
		{"Mahnung 1.pdf", "Mahnung 2.pdf", false},
		{"IMG_0001.jpg", "IMG_0010.jpg", false},
		{"Mahnung.pdf", "Angebot.pdf", false},
		{"", "Angebot.pdf", false},
	}
	for _, tc := range tests {
		if sameName(tc.a, tc.b) != tc.want || sameName(tc.b, tc.a) != tc.want {
			t.Errorf("sameName(%q, %q) is not %v both ways", tc.a, tc.b, tc.want)
		}
	}
}

// What may have been it once is not in its folder any more: somebody has moved it, so it may be in the archive, and
// whoever retries the upload does not make a second one. Where it is listed again and differs, it is sent.
func TestWhatMayHaveBeenItHasLeftTheFolder(t *testing.T) {
	for name, comesBack := range map[string]bool{"moved away": false, "moved back, with other content": true} {
		t.Run(name, func(t *testing.T) {
			f := newFake(outcome{commit: true, err: kindErr(archive.KindInterrupted)})
			f.hideIDs = true
			s, _ := open(t, t.TempDir())
			u := committed(t, s, lateBill(), billBytes)
			if _, err := Deliver(t.Context(), u, f, nil); err == nil || u.State() != Lost {
				t.Fatalf("%v, it is %s", err, u.State())
			}
			moved := f.docs
			f.docs = nil
			for range 2 { // also after a restart
				must(t, u.Retry(false))
				if _, err := Deliver(t.Context(), u, f, nil); !errors.Is(err, errUndecided) || u.State() != Failed || f.sends() != 1 {
					t.Fatalf("%v, it is %s after %d sends", err, u.State(), f.sends())
				}
				s = reopen(t, s)
				u = again(t, s, u)
			}
			if !comesBack {
				return
			}
			moved[0].bytes = []byte("other bytes")
			f.docs = moved
			must(t, u.Retry(false))
			if _, err := Deliver(t.Context(), u, f, nil); err != nil || f.sends() != 2 {
				t.Fatalf("%v after %d sends", err, f.sends())
			}
		})
	}
}
