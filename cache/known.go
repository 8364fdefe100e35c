package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.etcd.io/bbolt"

	"github.com/archivefs/archivefs/archive"
)

const (
	// knownLimit bounds the bytes of all listings in the file; about half a million documents.
	knownLimit = 64 << 20
	// ageSize is the length of the time that a value begins with.
	ageSize = 8
	// renewAfter is the age at which a listing is written again although it has not changed. The
	// age decides only what is evicted first when the file is full.
	renewAfter = 24 * time.Hour
)

// The buckets of the file; their names carry the version of their format. Keys and values are those of the shelf that
// has the bucket; a value begins with when it was fetched, a big-endian int64 of nanoseconds since 1970.
const (
	foldersBucket   = "folders.v1"
	documentsBucket = "documents.v1"
	inboxesBucket   = "inboxes.v1"
	readAsBucket    = "representation.v1"
	// sumBucket holds under sumKey how many bytes of values are in the others, a big-endian uint64.
	sumBucket = "sum.v1"
	sumKey    = "bytes"
)

// Known keeps, in one file, what the service listed last, for a mount that starts or goes
// on while the service is away. It is written in batches in the background; a crash loses the
// newest few. The file is bounded: what was fetched longest ago is evicted, unless it is pinned.
type Known struct {
	// Vanished is called in the background with documents that a newer list of a folder lacks. It is set
	// before the first list is kept; nil: nobody wants to know.
	Vanished func(docs []archive.ID)

	db      *database
	log     logrus.FieldLogger
	limit   uint64
	changes *buffer[place, saved]
	pins    atomic.Pointer[pins]
}

// pins are folders whose listings stay.
type pins struct {
	folders map[archive.ID]bool // nil: all folders
	// bytes is how much of the file they took when something was evicted last. Only write uses it.
	bytes uint64
}

// place is where in the file a value lies.
type place struct{ bucket, key string }

// saved is what is to be written to a place.
type saved struct {
	value   string // encoded; empty: the value is to be deleted
	fetched time.Time
}

// OpenKnown opens the file of path, or makes it with permissions 0600. A file of another
// format is replaced. One process at a time can have it open.
func OpenKnown(path string, log logrus.FieldLogger) (*Known, error) {
	db, err := openDatabase(path, foldersBucket, documentsBucket, inboxesBucket, readAsBucket, sumBucket)
	if err != nil {
		return nil, fmt.Errorf("open known listings %s: %w", path, err)
	}
	k := &Known{db: db, log: log, limit: knownLimit}
	k.Pin(map[archive.ID]bool{})
	k.changes = newBuffer(k.write)
	return k, nil
}

// Pin makes the listings of these folders, and of the inboxes if there are any, stay: they are not evicted, and the
// bound of the file does not count them. nil stands for all folders. Nobody changes the map afterwards.
func (k *Known) Pin(folders map[archive.ID]bool) { k.pins.Store(&pins{folders: folders}) }

// isPinned reports whether a value stays.
func isPinned(pins map[archive.ID]bool, bucket string, key []byte) bool {
	if bucket == inboxesBucket {
		return len(pins) > 0
	}
	return len(key) >= 8 && pins[archive.ID(binary.BigEndian.Uint64(key[len(key)-8:]))] //nolint:gosec // it was an int64
}

// put has a value written, unless a newer one is pending.
func (k *Known) put(at place, what saved) {
	k.changes.put(at, what, false, func(pending saved) bool {
		return what.value == "" || !pending.fetched.After(what.fetched)
	})
}

func (k *Known) get(at place) (what saved, found bool) {
	if what, found = k.changes.get(at); found {
		return what, what.value != ""
	}
	err := k.db.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(at.bucket)).Get([]byte(at.key))
		if fetched, rest, ok := splitAge(b); ok {
			what, found = saved{value: string(rest), fetched: fetched}, true
		}
		return nil
	})
	return what, found && err == nil
}

// write carries out the changes in one transaction. Changes that cannot be written are lost: an
// older listing, or none, serves as well.
func (k *Known) write(changes map[place]saved) error {
	var vanished []archive.ID
	err := k.db.update(func(tx *bbolt.Tx) (err error) {
		vanished, err = k.apply(tx, changes)
		return err
	})
	if len(vanished) > 0 {
		k.Vanished(vanished)
	}
	if err != nil {
		k.log.Warnf("keep listings for the time without the service: %v", err)
	} else if err := k.db.release(); err != nil { // the file is hardly ever read
		k.log.Debugf("release the memory of kept listings: %v", err)
	}
	return nil
}

// apply carries out the changes and keeps the sum of all values within the limit. It returns the documents
// that lists lack now.
func (k *Known) apply(tx *bbolt.Tx, changes map[place]saved) (vanished []archive.ID, err error) {
	sum := uint64(0)
	if b := tx.Bucket([]byte(sumBucket)).Get([]byte(sumKey)); len(b) == 8 {
		sum = binary.BigEndian.Uint64(b)
	}
	for at, what := range changes {
		b := tx.Bucket([]byte(at.bucket))
		before, after := b.Get([]byte(at.key)), what.bytes()
		if sameListing(before, after) {
			continue
		}
		if k.Vanished != nil && at.bucket == documentsBucket {
			vanished = append(vanished, missing(before, what.value)...)
		}
		sum -= uint64(len(before))
		sum += uint64(len(after))
		if err := put(b, []byte(at.key), after); err != nil {
			return vanished, err
		}
	}
	if p := k.pins.Load(); p.folders != nil && sum > k.limit+p.bytes {
		if sum, p.bytes, err = prune(tx, k.limit/4*3, p.folders); err != nil {
			return vanished, err
		}
	}
	return vanished, tx.Bucket([]byte(sumBucket)).Put([]byte(sumKey), binary.BigEndian.AppendUint64(nil, sum))
}

// missing returns the documents of a list on disk that a newer one lacks. A list that was forgotten is none.
func missing(before []byte, newer string) (docs []archive.ID) {
	_, list, _ := splitAge(before)
	old, known := documentsForm.unpack(string(list))
	now, whole := documentsForm.unpack(newer)
	if !known || !whole {
		return nil
	}
	there := make(map[archive.ID]bool, len(now))
	for i := range now {
		there[now[i].ID] = true
	}
	for i := range old {
		if !there[old[i].ID] {
			docs = append(docs, old[i].ID)
		}
	}
	return docs
}

// bytes returns the value as it lies on disk, nil for one to be deleted.
func (s *saved) bytes() []byte {
	if s.value == "" {
		return nil
	}
	b := make([]byte, 0, ageSize+len(s.value))
	return append(binary.BigEndian.AppendUint64(b, uint64(s.fetched.UnixNano())), s.value...)
}

// sameListing reports whether there is no need to write after over before.
func sameListing(before, after []byte) bool {
	then, old, ok := splitAge(before)
	now, next, valid := splitAge(after)
	age := now.Sub(then)
	return ok && valid && age >= 0 && age < renewAfter && bytes.Equal(old, next)
}

// splitAge returns when a value was fetched, and the listing.
func splitAge(b []byte) (fetched time.Time, rest []byte, ok bool) {
	if len(b) < ageSize {
		return time.Time{}, nil, false
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(b))), b[ageSize:], true //nolint:gosec // it was an int64
}

// prune removes what was fetched longest ago until at most limit bytes are left beside what is
// pinned, and returns how many bytes are left, and how many of them are pinned.
func prune(tx *bbolt.Tx, limit uint64, pins map[archive.ID]bool) (sum, pinned uint64, err error) {
	type value struct {
		bucket *bbolt.Bucket
		key    []byte
		age    time.Time
		size   uint64
	}
	var all []value
	for _, name := range []string{foldersBucket, documentsBucket, inboxesBucket} {
		b := tx.Bucket([]byte(name))
		err := b.ForEach(func(key, v []byte) error {
			if isPinned(pins, name, key) {
				pinned += uint64(len(v))
				return nil
			}
			fetched, _, _ := splitAge(v)
			all = append(all, value{b, bytes.Clone(key), fetched, uint64(len(v))})
			sum += uint64(len(v))
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
	}
	slices.SortFunc(all, func(a, b value) int { return a.age.Compare(b.age) })
	for _, v := range all {
		if sum <= limit {
			break
		}
		if err := v.bucket.Delete(v.key); err != nil {
			return 0, 0, err
		}
		sum -= v.size
	}
	return sum + pinned, pinned, nil
}

// Close writes what is not on disk yet and closes the file. A second Close returns nil.
func (k *Known) Close() error {
	first, err := k.changes.close()
	if !first {
		return nil
	}
	if err := errors.Join(err, k.db.close()); err != nil {
		return fmt.Errorf("close known listings: %w", err)
	}
	return nil
}

// shelf is the part of a Known that holds answers of one kind. It is a Store.
type shelf[K comparable, V any] struct {
	known  *Known
	bucket string
	key    func(K) string
	form   form[V]
}

func (s *shelf[K, V]) Load(key K) (value V, fetched time.Time, ok bool) {
	what, found := s.known.get(s.place(key))
	value, whole := s.form.unpack(what.value)
	if !found || !whole {
		var none V
		return none, time.Time{}, false
	}
	return value, what.fetched, true
}

func (s *shelf[K, V]) Save(key K, value V, fetched time.Time) {
	s.SavePacked(key, s.form.pack(value), fetched)
}

func (s *shelf[K, V]) SavePacked(key K, packed string, fetched time.Time) {
	s.known.put(s.place(key), saved{value: packed, fetched: fetched})
}

func (s *shelf[K, V]) Forget(key K) { s.known.put(s.place(key), saved{}) }

func (s *shelf[K, V]) place(key K) place { return place{s.bucket, s.key(key)} }

// Sample returns a document of each of the first lists on disk, at most n.
func (k *Known) Sample(n int) (docs []archive.Document) {
	_ = k.db.view(func(tx *bbolt.Tx) error { // without it nothing is known
		c := tx.Bucket([]byte(documentsBucket)).Cursor()
		for key, v := c.First(); key != nil && len(docs) < n; key, v = c.Next() {
			_, list, _ := splitAge(v)
			if all, whole := documentsForm.unpack(string(list)); whole && len(all) > 0 {
				docs = append(docs, all[0])
			}
		}
		return nil
	})
	return docs
}

// Folders keeps the children of folders, each with its id and name. The children of a child have a key of their own.
func (k *Known) Folders() Store[archive.ID, archive.Structure] {
	return &shelf[archive.ID, archive.Structure]{k, foldersBucket, idKey, structureForm}
}

// HasTop reports whether the top of the archive is known, and lists something.
func (k *Known) HasTop() bool {
	top, _, _ := k.Folders().Load(0)
	return len(top.Folders) > 0
}

// Documents keeps the document lists that were fetched with these options.
func (k *Known) Documents(options archive.ListOptions) Store[archive.ID, []archive.Document] {
	view := viewKey(options)
	key := func(id archive.ID) string { return view + idKey(id) }
	return &shelf[archive.ID, []archive.Document]{k, documentsBucket, key, documentsForm}
}

// Inboxes keeps the inboxes with their folders.
func (k *Known) Inboxes() Store[struct{}, archive.Inboxes] {
	return &shelf[struct{}, archive.Inboxes]{k, inboxesBucket, onlyKey, inboxesForm}
}

// Representation keeps which representation of documents the service was found to have.
func (k *Known) Representation() Store[struct{}, archive.Representation] {
	return &shelf[struct{}, archive.Representation]{k, readAsBucket, onlyKey, representationForm}
}

// idKey is the id as a big-endian int64.
func idKey(id archive.ID) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(id))) //nolint:gosec // the bits are kept
}

func onlyKey(struct{}) string { return "all" }

// viewKey is 8 bytes that differ where the options do.
func viewKey(o archive.ListOptions) string {
	text := fmt.Sprintf("%q %q %t %d %t", o.IncludeMetadata, o.ExcludeMetadata, o.WithAutoExport, o.CreatedAfter.Unix(), o.Recursive)
	sum := sha256.Sum256([]byte(text))
	return string(sum[:8])
}
