package spool

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Create begins an empty file, with the descriptive fields of r. It is volatile: Sync and the
// transitions make it durable.
func (s *Spool) Create(r Record) (*Upload, error) {
	u, err := s.create(s.fresh(r), unsynced)
	if err != nil {
		return nil, fmt.Errorf("create an upload: %w", err)
	}
	return u, nil
}

// uploadSize is what an upload takes of the disk beside its bytes, generously.
const uploadSize = 16 << 10

// create writes the record of a new upload. The error is ENOSPC when that would take of the reserve:
// uploads need it to be recorded as sent, and thousands of refused ones would use it up.
func (s *Spool) create(r Record, as durability) (*Upload, error) {
	if err := s.saw(s.budget.mayTake(uploadSize, 0)); err != nil {
		return nil, err
	}
	u := newUpload(s, r)
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.storeLocked(&r, as)
	if err == nil {
		err = s.fault(PointCreated)
	}
	if err != nil {
		_ = s.writeRemoval(u.id, false) // it has no bytes: the next run fails it, at worst
		s.journal.Release(u.at)
		return nil, err
	}
	s.remember(u)
	return u, nil
}

// fresh is the record of a new upload with the descriptive fields of r.
func (s *Spool) fresh(r Record) Record {
	now := s.now()
	r = r.clone()
	blank := Record{Version: recordVersion, ID: s.ids.next(now), State: Created, Created: now, Changed: now}
	blank.keepOwned(&r)
	r.Directory = false
	return r
}

func (s *Spool) remember(u *Upload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uploads[u.id] = u
}

func (s *Spool) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, id)
}

// idLength is the length of an id: nanoseconds since 1970 in base 36, enough until 2120.
const idLength = 12

// validID reports whether s is an id. It then is a harmless file name.
func validID(s string) bool {
	return len(s) == idLength && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// ids gives out ids that ascend, also when the clock does not.
type ids struct {
	mu   sync.Mutex
	last int64 // +checklocks:mu
}

// seen notes an id that is in use.
func (g *ids) seen(id string) {
	n, _ := strconv.ParseInt(id, 36, 64) // each id fits
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last, n)
}

// next returns an id that was not given out and not seen.
func (g *ids) next(now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(now.UnixNano(), g.last+1, 0)
	s := strconv.FormatInt(g.last, 36)
	return strings.Repeat("0", max(0, idLength-len(s))) + s
}

// sameName reports whether a document listed under one name may be the one sent under the other. A service can change a
// name a little (case, white space, the Unicode form, an extension of its own). To take too many documents for possible
// ones is safe: the name alone decides nothing.
func sameName(a, b string) bool {
	l := likenessOf(a)
	return l.matches(b)
}

// nameLikeness compares one name with many others, of most without an allocation.
type nameLikeness struct {
	name        string
	bones, stem string // of the name, and of the name without its extension
}

func likenessOf(name string) nameLikeness { return nameLikeness{name, bones(name), bones(stem(name))} }

// matches is sameName.
func (l *nameLikeness) matches(other string) bool {
	if other == l.name {
		return true
	}
	if differsWithin(other, l.stem) {
		return false
	}
	full, short := bones(other), bones(stem(other))
	return full == l.bones || full == l.stem || short == l.bones || short == l.stem
}

// differsWithin reports whether bones(name) does not begin with want. Whatever matches begins
// with the bones of the stem; most names differ from them early.
func differsWithin(name, want string) bool {
	last := noLetter // the letter before, which a combining mark would remove
	for _, r := range name {
		switch {
		case last != noLetter && isMark(r):
			last = noLetter
			continue
		case last != noLetter && want == "":
			return false
		case last != noLetter && rune(want[0]) != last:
			return true
		case last != noLetter:
			want = want[1:]
		}
		if last = noLetter; !isNoBone(r) {
			last = unicode.ToLower(r)
		}
	}
	return want != "" && (len(want) > 1 || rune(want[0]) != last)
}

// stem is name without its extension: a last dot and 1 to 10 ASCII letters or digits.
func stem(name string) string {
	ext := path.Ext(name)
	if len(ext) < 2 || len(ext) > 11 || strings.IndexFunc(ext[1:], isNoBone) >= 0 {
		return name
	}
	return strings.TrimSuffix(name, ext)
}

// bones is what such changes leave of a name: its ASCII letters, in lower case, and digits. A
// letter with a combining mark is left out, as the composed one is, which is not ASCII.
func bones(name string) string {
	left := make([]rune, 0, len(name))
	letter := false // the last of left is the character just before
	for _, r := range name {
		switch {
		case letter && isMark(r):
			left = left[:len(left)-1]
			letter = false
		case isNoBone(r):
			letter = false
		default:
			left = append(left, unicode.ToLower(r))
			letter = true
		}
	}
	return string(left)
}

const noLetter rune = -1

// isMark reports whether r is a combining mark. The first is U+0300.
func isMark(r rune) bool { return r >= 0x300 && unicode.Is(unicode.Mn, r) }

func isNoBone(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
}
