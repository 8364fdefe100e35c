package cache

import (
	"bytes"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// FuzzKnown reads bytes as each kind of value. What can be read is read the same again
// after it was written.
func FuzzKnown(f *testing.F) {
	folder := archive.Folder{ID: 1, Name: "a", ChildrenKnown: true, Children: []archive.Folder{{ID: 2, Name: "b"}}}
	f.Add(appendStructure(nil, archive.Structure{Free: true, Folders: []archive.Folder{folder}}))
	f.Add(appendInboxes(nil, archive.Inboxes{Inboxes: []archive.Inbox{{UserID: 7, Folder: folder}}}))
	f.Add(appendDocuments(nil, []archive.Document{{
		ID: 3, Name: "c", Created: time.Date(2024, 3, 1, 12, 0, 0, 1, time.FixedZone("", -3600)),
		Keywords: []string{"d"}, Metadata: []archive.KeyValue{{Key: "e", Value: "f"}}, Size: archive.SizeUnknown,
	}}))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		again(t, b, (*decoder).structure, appendStructure)
		again(t, b, (*decoder).inboxes, appendInboxes)
		again(t, b, (*decoder).documents, appendDocuments)
	})
}

func again[V any](t *testing.T, b []byte, decode func(*decoder) V, encode func([]byte, V) []byte) {
	t.Helper()
	d := decoder{rest: string(b)}
	v := decode(&d)
	if !d.ended() {
		return
	}
	written := encode(nil, v)
	d = decoder{rest: string(written)}
	if second := encode(nil, decode(&d)); !d.ended() || !bytes.Equal(written, second) {
		t.Errorf("%x was read as %+v, written as %x, and again as %x", b, v, written, second)
	}
}
