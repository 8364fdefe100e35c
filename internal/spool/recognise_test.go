package spool

import (
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// A service may answer an upload with a document that it had before.
func TestDocumentThatTheArchiveHad(t *testing.T) {
	const elsewhere = 8
	tests := []struct {
		name     string
		folder   archive.ID // of the document that it has
		holds    string
		external string // of the upload
		change   func(*fakeArchive)
		split    bool
		had      string // in the record
		reason   string // where it failed
	}{
		{name: "in the folder", folder: 7, holds: billBytes, external: "ERP-1", had: "alt.pdf"},
		{name: "in another folder", folder: elsewhere, holds: billBytes, external: "ERP-1", had: "alt.pdf"},
		{name: "in the folder, without an id of the user's", folder: 7, holds: billBytes, had: "alt.pdf"},
		{name: "with other content", folder: 7, holds: "another", external: "ERP-1", reason: "alt.pdf (document 101)"},
		{name: "with other content elsewhere", folder: elsewhere, holds: "another", external: "ERP-1", reason: "force-new-document"},
		{name: "an e-mail's", folder: 7, holds: "another", external: "ERP-1", split: true, had: "alt.pdf"},
		{
			name: "where originals are not served", folder: 7, holds: "another", external: "ERP-1", had: "alt.pdf",
			change: func(f *fakeArchive) { f.content = kindErr(archive.KindUnsupported) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newFake()
			id := a.add(tt.folder, "alt.pdf", "ERP-1", tt.holds)
			a.script = []outcome{{had: id}}
			if tt.change != nil {
				tt.change(a)
			}
			s, _ := open(t, t.TempDir())
			r := lateBill()
			r.ExternalID = tt.external
			if tt.split {
				r.EmailImportOrder = archive.EmailOnly
			}
			u := committed(t, s, r, billBytes)
			got, err := Deliver(t.Context(), u, a, nil)
			r = u.Record()
			switch {
			case tt.reason != "" && (err == nil || r.State != Lost || r.Doubtful || !strings.Contains(r.Reason, tt.reason)):
				t.Errorf("is %s, %q, with %v", r.State, r.Reason, err)
			case tt.reason == "" && (err != nil || got != id || r.State != Confirmed || r.Had != tt.had):
				t.Errorf("is %s as document %d, had %q, with %v", r.State, got, r.Had, err)
			}
		})
	}
}

// A document that the upload itself made is its own, also under an id of the user's.
func TestDocumentThatTheArchiveHadNot(t *testing.T) {
	for _, external := range []string{"", "ERP-1"} {
		a := newFake()
		a.add(7, "alt.pdf", "ERP-1", billBytes)
		s, _ := open(t, t.TempDir())
		r := lateBill()
		r.ExternalID = external
		u := committed(t, s, r, billBytes)
		if _, err := Deliver(t.Context(), u, a, nil); err != nil || u.Record().Had != "" {
			t.Errorf("had %q, with %v", u.Record().Had, err)
		}
	}
}

// Whether a document that the archive had holds what was sent is asked until there is an answer:
// the bytes here are forgotten after it.
func TestDocumentThatTheArchiveHadCannotBeAskedAbout(t *testing.T) {
	const elsewhere = 8
	away := []error{kindErr(archive.KindUnreachable)}
	tests := []struct {
		name   string
		folder archive.ID // of the document that it has
		holds  string
		data   []error
		once   []error
		had    string // in the record, where it is confirmed
	}{
		{name: "its content, which is the same", folder: 7, holds: billBytes, once: away, had: "alt.pdf"},
		{name: "its content, which is another", folder: 7, holds: "another", once: away},
		{name: "its folder, with the same content", folder: elsewhere, holds: billBytes, data: away, had: "alt.pdf"},
		{name: "its folder, with another content", folder: elsewhere, holds: "another", data: away},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newFake()
			id := a.add(tt.folder, "alt.pdf", "ERP-1", tt.holds)
			a.script = []outcome{{had: id}}
			a.data, a.once = tt.data, tt.once
			s, _ := open(t, t.TempDir())
			r := lateBill()
			r.ExternalID = "ERP-1"
			u := committed(t, s, r, billBytes)
			_, err := Deliver(t.Context(), u, a, nil)
			r = u.Record()
			switch {
			case tt.had != "" && (err != nil || r.State != Confirmed || r.Had != tt.had):
				t.Errorf("is %s, had %q, with %v; want it confirmed", r.State, r.Had, err)
			case tt.had == "" && (err == nil || r.State != Lost):
				t.Errorf("is %s, had %q, with %v; want it failed, with its bytes", r.State, r.Had, err)
			}
		})
	}
}

// Where nobody can be asked as long as the patience lasts, the upload stays, in doubt.
func TestDocumentThatTheArchiveHadIsNeverToldOf(t *testing.T) {
	a := newFake()
	id := a.add(7, "alt.pdf", "ERP-1", "another")
	a.script = []outcome{{had: id}}
	a.content = kindErr(archive.KindUnreachable)
	s, _ := open(t, t.TempDir())
	r := lateBill()
	r.ExternalID = "ERP-1"
	u := committed(t, s, r, billBytes)
	if _, err := Deliver(t.Context(), u, a, nil); err == nil || u.Record().State != Lost || !u.Record().Doubtful {
		t.Errorf("is %s, doubtful %v, with %v", u.Record().State, u.Record().Doubtful, err)
	}
}
