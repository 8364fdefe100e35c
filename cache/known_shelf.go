package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// shelf is the part of a Known that holds answers of one kind. It is a Store.
type shelf[K comparable, V any] struct {
	known  *Known
	bucket string
	key    func(K) string
	form   form[V]
}

// Load implements Store.
func (s *shelf[K, V]) Load(key K) (value V, fetched time.Time, ok bool) {
	at := s.place(key)
	what, found := s.known.noted(at)
	if !found {
		what, found = s.known.read(at)
	}
	value, whole := s.form.unpack(what.value)
	if !found || !whole { // as when it is to be forgotten
		var none V
		return none, time.Time{}, false
	}
	return value, what.fetched, true
}

// Save implements Store.
func (s *shelf[K, V]) Save(key K, value V, fetched time.Time) {
	s.SavePacked(key, s.form.pack(value), fetched)
}

// SavePacked implements Store.
func (s *shelf[K, V]) SavePacked(key K, packed string, fetched time.Time) {
	s.known.note(s.place(key), saved{value: packed, fetched: fetched})
}

// Forget implements Store.
func (s *shelf[K, V]) Forget(key K) { s.known.note(s.place(key), saved{}) }

func (s *shelf[K, V]) place(key K) place { return place{s.bucket, s.key(key)} }

// Folders keeps the children of folders. Of a child the id and the name are kept, not its
// own children: they have a key of their own.
func (k *Known) Folders() Store[archive.ID, archive.Structure] {
	return &shelf[archive.ID, archive.Structure]{
		known: k, bucket: string(foldersBucket), key: idKey, form: structureForm,
	}
}

// Documents keeps document lists that were asked for with these options: with others they
// hold something else.
func (k *Known) Documents(options archive.ListOptions) Store[archive.ID, []archive.Document] {
	view := viewKey(options)
	return &shelf[archive.ID, []archive.Document]{
		known: k, bucket: string(documentsBucket), key: func(id archive.ID) string { return view + idKey(id) },
		form: documentsForm,
	}
}

// Inboxes keeps the inboxes with their folders.
func (k *Known) Inboxes() Store[struct{}, archive.Inboxes] {
	return &shelf[struct{}, archive.Inboxes]{
		known: k, bucket: string(inboxesBucket), key: onlyKey, form: inboxesForm,
	}
}

// Representation keeps which representation of documents the service was found to have.
func (k *Known) Representation() Store[struct{}, archive.Representation] {
	return &shelf[struct{}, archive.Representation]{
		known: k, bucket: string(readAsBucket), key: onlyKey,
		form: representationForm,
	}
}

// idKey is the id as a big-endian int64.
func idKey(id archive.ID) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(id))) //nolint:gosec // the bits are kept
}

// onlyKey is the key of what there is only one of.
func onlyKey(struct{}) string { return "all" }

// viewKey is 8 bytes that differ where the options do.
func viewKey(o archive.ListOptions) string {
	text := fmt.Sprintf("%q %q %t %d %t", o.IncludeMetadata, o.ExcludeMetadata, o.WithAutoExport, o.CreatedAfter.Unix(), o.Recursive)
	sum := sha256.Sum256([]byte(text))
	return string(sum[:8])
}
