package cache_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// changed is a Listings of documents with an answer, and counts how often its changes are carried out.
type changed struct {
	*cache.Listings[int, []archive.Document]
	done int
}

func newChanged() *changed {
	c := &changed{Listings: cache.NewListings[int, []archive.Document](4, time.Hour, time.Now)}
	c.Pack(cache.PackedDocuments())
	return c
}

// add adds a document to the answer of key 1, unless it has it.
func (c *changed) add(id archive.ID) {
	c.Update(1, func(docs []archive.Document) []archive.Document {
		c.done++
		if slices.ContainsFunc(docs, func(d archive.Document) bool { return d.ID == id }) {
			return docs
		}
		return append(docs, archive.Document{ID: id})
	})
}

// want fails the test unless the answer of key 1 has these documents, without a fetch.
func (c *changed) want(t *testing.T, ids ...archive.ID) {
	t.Helper()
	fetch := func(context.Context) ([]archive.Document, error) { t.Error("fetched"); return nil, nil }
	got, err := c.Get(t.Context(), 1, fetch)
	if err != nil || !slices.Equal(idsOf(got.Value), ids) {
		t.Errorf("%v, %v; want %v", idsOf(got.Value), err, ids)
	}
	if text, ok := got.Packed.Text(); !ok || !reflect.DeepEqual(cache.PackedDocuments().Unpack(text), got.Value) {
		t.Errorf("packed is %q", text)
	}
}

func idsOf(docs []archive.Document) (ids []archive.ID) {
	for i := range docs {
		ids = append(ids, docs[i].ID)
	}
	return ids
}

// A change costs the same however long the answer is: it is carried out when the answer is used, once.
func TestUpdateWaitsForTheNextUse(t *testing.T) {
	c := newChanged()
	c.Put(1, []archive.Document{{ID: 1}})
	for id := range archive.ID(9) {
		c.add(id + 2)
	}
	if c.done != 0 {
		t.Errorf("%d changes were carried out", c.done)
	}
	for range 2 {
		c.want(t, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	}
	if c.done != 9 {
		t.Errorf("changes were carried out %d times, want 9", c.done)
	}
	c.add(11)
	c.want(t, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	c.Invalidate(1)
	if c.Fresh(1) {
		t.Error("it is fresh")
	}
}

// An answer to a request that was sent before the change gets it, whether it has it already or not.
func TestUpdateDuringARequest(t *testing.T) {
	for name, answer := range map[string][]archive.Document{"older": {{ID: 1}}, "newer": {{ID: 1}, {ID: 2}}} {
		for way, arrive := range map[string]func(c *changed, before func()){
			"a fetch": func(c *changed, before func()) {
				got, _ := c.Get(t.Context(), 1, func(context.Context) ([]archive.Document, error) { before(); return answer, nil })
				if ids := idsOf(got.Value); !slices.Equal(ids, []archive.ID{1, 2}) {
					t.Errorf("%s: the caller got %v", name, ids)
				}
			},
			"an offer": func(c *changed, before func()) {
				a := c.Ahead()
				before()
				a.Offer(1, answer)
				a.End()
			},
			"a whole list": func(c *changed, before func()) {
				c.Put(1, nil)
				a := c.Ahead()
				before()
				if got, ok := a.Put(1, answer); !ok || !slices.Equal(idsOf(got.Value), []archive.ID{1, 2}) {
					t.Errorf("%s: it was put in as %v, %v", name, idsOf(got.Value), ok)
				}
				a.End()
			},
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				c := newChanged()
				arrive(c, func() { c.add(2) })
				c.add(3)
				c.want(t, 1, 2, 3)
			})
		}
	}
}

// What was invalidated meanwhile is not put in.
func TestPutOfAnAnswerFromBeforeAChange(t *testing.T) {
	c := newChanged()
	a := c.Ahead()
	c.Invalidate(1)
	if _, ok := a.Put(1, nil); ok || c.Fresh(1) {
		t.Errorf("it was put in: %v", ok)
	}
	a.End()
}

// packedStore has what was saved last.
type packedStore map[int]string

func (packedStore) Load(int) ([]archive.Document, time.Time, bool) { return nil, time.Time{}, false }

func (packedStore) Save(int, []archive.Document, time.Time) { panic("it is packed") }

func (s packedStore) SavePacked(key int, packed string, _ time.Time) { s[key] = packed }

func (s packedStore) Forget(key int) { delete(s, key) }

// Changes are saved for the time without the service a minute later, or when the mount ends.
func TestUpdatesAreSaved(t *testing.T) {
	for name, wait := range map[string]func(c *changed){
		"a minute later": func(*changed) { time.Sleep(time.Minute); synctest.Wait() },
		"in the end":     func(c *changed) { c.Save() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, store := newChanged(), packedStore{}
				c.Keep(store)
				c.Put(1, []archive.Document{{ID: 1}})
				for id := range archive.ID(2) {
					c.add(id + 2)
					wait(c)
					if got := cache.PackedDocuments().Unpack(store[1]); len(got) != int(id)+2 {
						t.Errorf("saved is %v", idsOf(got))
					}
				}
			})
		})
	}
}
