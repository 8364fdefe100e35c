package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// ageSize is the length of the time that a value begins with.
const ageSize = 8

// renewAfter is how old the time of a value may become before a listing that has not
// changed is written again. It only decides what goes first when the file is full.
const renewAfter = 24 * time.Hour

// flush writes the buffer in one transaction. What fails is lost: an older listing, or
// none, serves as well, and the next one is written again.
func (k *Known) flush() error {
	k.mu.Lock()
	if len(k.pending) == 0 {
		k.mu.Unlock()
		return nil
	}
	k.writing, k.pending = k.pending, make(map[place]saved)
	changes := k.writing // not changed until it is taken out below
	k.mu.Unlock()

	err := k.db.update(func(tx *bbolt.Tx) error { return k.write(tx, changes) })
	if err != nil {
		k.log.Warnf("keep listings for the time without the service: %v", err)
	} else if err := k.db.release(); err != nil { // what is kept is hardly ever read
		k.log.Debugf("release the memory of kept listings: %v", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writing = nil
	return nil
}

// write carries out the changes and keeps the sum of all values within the limit.
func (k *Known) write(tx *bbolt.Tx, changes map[place]saved) error {
	sum := readSum(tx)
	for at, what := range changes {
		b := tx.Bucket([]byte(at.bucket))
		before, after := b.Get([]byte(at.key)), what.bytes()
		if sameListing(before, after) {
			continue
		}
		sum -= uint64(len(before))
		sum += uint64(len(after))
		if err := put(b, []byte(at.key), after); err != nil {
			return err
		}
	}
	if sum > k.limit {
		var err error
		if sum, err = prune(tx, k.limit/4*3); err != nil {
			return err
		}
	}
	return tx.Bucket(sumBucket).Put(sumKey, binary.BigEndian.AppendUint64(nil, sum))
}

// bytes returns what lies on disk, nil for nothing.
func (s *saved) bytes() []byte {
	if s.value == "" {
		return nil
	}
	b := make([]byte, 0, ageSize+len(s.value))
	return append(binary.BigEndian.AppendUint64(b, uint64(s.fetched.UnixNano())), s.value...)
}

func put(b *bbolt.Bucket, key, value []byte) error {
	if value == nil {
		return b.Delete(key)
	}
	return b.Put(key, value)
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

func readSum(tx *bbolt.Tx) uint64 {
	if b := tx.Bucket(sumBucket).Get(sumKey); len(b) == 8 {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// prune removes what was fetched longest ago until at most limit bytes are left, and
// returns how many are.
func prune(tx *bbolt.Tx, limit uint64) (sum uint64, err error) {
	type value struct {
		bucket *bbolt.Bucket
		key    []byte
		age    time.Time
		size   uint64
	}
	var all []value
	for _, name := range [][]byte{foldersBucket, documentsBucket, inboxesBucket} {
		b := tx.Bucket(name)
		err := b.ForEach(func(key, v []byte) error {
			fetched, _, _ := splitAge(v)
			all = append(all, value{b, bytes.Clone(key), fetched, uint64(len(v))})
			sum += uint64(len(v))
			return nil
		})
		if err != nil {
			return sum, err
		}
	}
	slices.SortFunc(all, func(a, b value) int { return a.age.Compare(b.age) })
	for _, v := range all {
		if sum <= limit {
			break
		}
		if err := v.bucket.Delete(v.key); err != nil {
			return sum, err
		}
		sum -= v.size
	}
	return sum, nil
}

// Close writes what is not on disk yet and closes the file. A second Close returns nil.
func (k *Known) Close() error {
	if !k.batch.end() {
		return nil
	}
	if err := errors.Join(k.flush(), k.db.close()); err != nil {
		return fmt.Errorf("close known listings: %w", err)
	}
	return nil
}
