package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/journal"
)

const someID = "0123456789ab"

// full is a record with every field set.
func full() Record {
	at := time.Date(2024, 5, 6, 7, 8, 9, 10, time.UTC)
	return Record{
		Version: recordVersion, ID: someID, State: Sending, UID: 1001, ByRoot: true, Rest: 5, Doubted: true, Written: "w", Created: at, Changed: at,
		Directory: true, Folder: 7, Within: someID, Inbox: true, Path: "Muster GmbH/Rechnungen", Local: []string{".Trash-1000", "files"}, Name: "ü.pdf",
		DocumentName: "d", Temporary: true, Forgotten: at, Replace: 3, Attributes: archive.Attributes{
			Keywords: []string{"a,b"}, Types: []string{"t"}, Metadata: []archive.KeyValue{{Key: "k", Value: "v"}}, ExternalID: "e",
			EmailImportOrder: archive.EmailOnly, ForceNew: archive.FlagFalse,
		},
		AutoExport: true, Xattrs: map[string][]byte{"user.x": {0, 255}}, Mtime: at, Stopped: true, Size: 3, SHA256: sum("abc"), Unwritten: 1,
		SentID: "e", SentName: "d", SentFolder: 7, SentReplace: 3, SentSHA256: sum("abc"), Split: true,
		Baseline: []archive.ID{1, 2}, Open: []archive.ID{3}, Doubtful: true, Refused: true, Attempts: 2, Reason: "r", Document: 9, Had: "h",
	}
}

func TestRecordRoundTrip(t *testing.T) {
	want := full()
	v := reflect.ValueOf(want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not set, so it is not tested", v.Type().Field(i).Name)
		}
	}
	b, err := want.encode()
	must(t, err)
	got, err := decode(b, someID)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n%+v\n%+v", err, got, want)
	}
	c := want.clone()
	if !reflect.DeepEqual(c, want) {
		t.Fatal("a clone differs")
	}
	c.Local[0], c.Keywords[0], c.Types[0], c.Metadata[0].Key, c.Baseline[0], c.Xattrs["user.x"][0] = "", "", "", "", 0, 9
	if !reflect.DeepEqual(want, full()) {
		t.Fatal("a clone shares with its origin")
	}
}

// Records of this form lie on disks.
func TestRecordForm(t *testing.T) {
	const form = `{"version":1,"id":"0123456789ab","state":"sending","uid":1001,"byRoot":true,"rest":5,"doubted":true,"written":"w",` +
		`"created":"2024-05-06T07:08:09.00000001Z","changed":"2024-05-06T07:08:09.00000001Z","directory":true,"folder":7,` +
		`"within":"0123456789ab","inbox":true,"path":"Muster GmbH/Rechnungen","local":[".Trash-1000","files"],"name":"ü.pdf",` +
		`"documentName":"d","temporary":true,"forgotten":"2024-05-06T07:08:09.00000001Z","replace":3,"keywords":["a,b"],"types":["t"],` +
		`"metadata":[{"Key":"k","Value":"v"}],"externalId":"e","emailImportOrder":"EMAIL_ONLY","forceNew":1,"autoExport":true,` +
		`"xattrs":{"user.x":"AP8="},"mtime":"2024-05-06T07:08:09.00000001Z","stopped":true,"size":3,` +
		`"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","unwritten":1,"sentId":"e","sentName":"d","sentFolder":7,` +
		`"sentReplace":3,"sentSha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","split":true,"baseline":[1,2],` +
		`"doubtful":true,"open":[3],"refused":true,"attempts":2,"reason":"r","document":9,"had":"h"}`
	r := full()
	if b, err := r.encode(); err != nil || string(b) != form {
		t.Errorf("%v\ngot  %s\nwant %s", err, b, form)
	}
	if got, err := decode([]byte(form), someID); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, r)
	}
}

func TestOwnedFieldsAreKept(t *testing.T) {
	r, next := full(), Record{}
	r.keepOwned(&next)
	v, was := reflect.ValueOf(next), reflect.ValueOf(full())
	descriptive := map[string]bool{
		"Visible": true, "Queued": true, "Rest": true, "Doubted": true, "Written": true, "UID": true, "ByRoot": true, "Folder": true, "Within": true, "Inbox": true, "Path": true, "Local": true, "Name": true, "DocumentName": true,
		"Temporary": true, "Forgotten": true, "Replace": true, "Attributes": true, "AutoExport": true, "Xattrs": true, "Mtime": true, "Stopped": true,
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if kept := reflect.DeepEqual(v.Field(i).Interface(), was.Field(i).Interface()); kept == descriptive[name] {
			t.Errorf("%s: kept is %v", name, kept)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := map[string]func(*Record){
		"another id":           func(r *Record) { r.ID = "ba9876543210" },
		"a path as id":         func(r *Record) { r.ID = "../../../../x" },
		"no state":             func(r *Record) { r.State = "" },
		"unknown state":        func(r *Record) { r.State = "asleep" },
		"negative size":        func(r *Record) { r.Size = -1 },
		"no checksum":          func(r *Record) { r.SHA256, r.SentSHA256 = "", "" },
		"half a checksum":      func(r *Record) { r.SHA256, r.SentSHA256 = "abcd", "abcd" },
		"other bytes sent":     func(r *Record) { r.SentSHA256 = sum("x") },
		"sending, nothing set": func(r *Record) { r.SentID, r.SentReplace, r.Doubtful = "", 0, false },
		"unknown order":        func(r *Record) { r.EmailImportOrder = "SOMEHOW" },
		"unknown flag":         func(r *Record) { r.ForceNew = 3 },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			r, good := full(), full()
			r.Directory = false
			change(&r)
			b, err := good.encode()
			must(t, err)
			if r.ID != someID {
				b = bytes.Replace(b, []byte(someID), []byte(r.ID), 1)
			} else if b, err = r.encode(); err == nil {
				t.Fatal("written")
			}
			if _, err := decode(b, someID); err == nil {
				t.Fatal("read")
			}
		})
	}
}

func TestRecordHasALimit(t *testing.T) {
	r := full()
	r.Keywords = []string{strings.Repeat("x", recordLimit)}
	if _, err := r.encode(); err == nil {
		t.Fatal("a record of any size is written")
	}
}

// FuzzRecord: whatever record the journal has, the spool opens, loses no byte of the data,
// changes nothing outside its directory, and hands out records that can be written.
func FuzzRecord(f *testing.F) {
	r := full()
	good, err := r.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for _, s := range []string{
		"", "{", "null", "[]", `{"version":1}`, `{"version":2,"state":"committed"}`, `{"version":1e99}`,
		`{"version":1,"id":"../../../etc/","state":"created"}`,
		`{"version":1,"id":"` + someID + `","state":"created","closed":true,"size":3,"name":"../../x","local":[".."]}`,
		`{"version":1,"id":"` + someID + `","state":"committed","size":3,"sha256":"` + sum("abc") + `"}`,
		`{"version":1,"id":"` + someID + `","state":"failed","reason":"\u001b[2J"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "spool")
		s, _ := open(t, dir)
		for _, e := range []journal.Entry{
			{Key: someID, Kind: isBytes, Body: []byte("abc")}, {Key: someID, Kind: isRecord, Durable: true, Body: record},
		} {
			_, err := s.journal.Append(e)
			must(t, err)
		}
		s = reopen(t, s)
		u, ok := s.Get(someID)
		if !ok {
			t.Fatal("the upload is gone")
		}
		got := u.Record()
		if _, err := got.encode(); err != nil {
			t.Fatalf("%v in %+v", err, got)
		}
		if got.State == Created || got.State.Due() || got.State != Unusable && got.ID != someID {
			t.Fatalf("%+v", got)
		}
		wantContent(t, u, []byte("abc"))
		if got.State != Unusable && got.State.IsFailed() {
			must(t, u.Update(func(r *Record) { r.Name += "/../../x" }))
		}
		entries, err := os.ReadDir(parent)
		if err != nil || len(entries) != 1 {
			t.Fatalf("outside the spool: %v, %v", entries, err)
		}
		must(t, s.Close())
	})
}

func TestPersonOfARecord(t *testing.T) {
	var r Record
	for _, step := range []struct {
		by        uint32
		known     bool
		want      uint32
		wantKnown bool
	}{{0, false, 0, false}, {0, true, 0, true}, {5, true, 5, true}, {0, false, 5, true}, {0, true, 0, true}, {7, true, 7, true}} {
		r.By(step.by, step.known)
		if uid, known := r.Person(); uid != step.want || known != step.wantKnown {
			t.Errorf("after By(%d, %v): %d, %v", step.by, step.known, uid, known)
		}
	}
}
