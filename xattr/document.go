package xattr

import (
	"strconv"

	"github.com/archivefs/archivefs/archive"
)

// State is where a file stands, as the attribute state says it.
type State string

// The states.
const (
	StateArchived State = "archived" // a document of the archive
	StateInbox    State = "inbox"    // a document in an inbox
	StatePending  State = "pending"  // on its way to the archive
	StateFailed   State = "failed"   // not archived, and not tried again by itself
	StateLocal    State = "local"    // never to be uploaded, or not closed yet
)

// Value is an attribute with its value. The value can be longer than MaxValue.
type Value struct {
	Attr Attr
	Data []byte
}

// Values returns the attributes that the document list tells of doc, in the order of a
// listing. Dates, the auto-export status and keywords are there when they are known; of
// metadata entries with one key the first. What Listed keeps out of listings is here all
// the same.
func Values(doc archive.Document, state State) []Value {
	values := make([]Value, 0, 8+len(doc.Metadata))
	add := func(kind Kind, v []byte) {
		values = append(values, Value{Attr: Attr{Kind: kind}, Data: v})
	}
	add(KindID, strconv.AppendInt(nil, int64(doc.ID), 10))
	add(KindName, []byte(doc.Name))
	if !doc.Created.IsZero() {
		add(KindCreated, FormatTime(doc.Created))
	}
	if !doc.Archived.IsZero() {
		add(KindArchived, FormatTime(doc.Archived))
	}
	add(KindPages, strconv.AppendInt(nil, int64(doc.Pages), 10))
	add(KindState, []byte(state))
	if doc.AutoExport != archive.FlagUnknown {
		add(KindAutoExport, FormatBool(doc.AutoExport == archive.FlagTrue))
	}
	if list := FormatKeywords(doc.Keywords); len(list) > 0 {
		add(KindKeywords, list)
	}
	return append(values, metadata(doc.Metadata)...)
}

// metadata returns the first entry of each key.
func metadata(entries []archive.KeyValue) []Value {
	values := make([]Value, 0, len(entries))
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if e.Key == "" || seen[e.Key] {
			continue // a name needs a key
		}
		seen[e.Key] = true
		values = append(values, Value{Attr: Attr{Kind: KindMetadata, Key: e.Key}, Data: []byte(e.Value)})
	}
	return values
}

// Find returns the value of a, and whether it is among values.
func Find(values []Value, a Attr) ([]byte, bool) {
	for _, v := range values {
		if v.Attr == a {
			return v.Data, true
		}
	}
	return nil, false
}

// Names returns the names of those values that belong in a listing, in their order.
func Names(values []Value) []string {
	names := make([]string, 0, len(values))
	for _, v := range values {
		if v.Attr.Listed() {
			names = append(names, v.Attr.Name())
		}
	}
	return names
}
