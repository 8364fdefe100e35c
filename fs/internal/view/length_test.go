package view

import (
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
)

type noneListed struct{}

func (noneListed) Len() int                       { return 0 }
func (noneListed) Document(int) *archive.Document { return nil }

// A service without HEAD is asked in two folders, and then for a while in none.
func TestLengthsThatNobodyTells(t *testing.T) {
	now := time.Now()
	service := &scripted{answers: map[string]archive.Kind{"original": archive.KindUnsupported}}
	all := &Lengths{Representations: &Representations{
		Mode: Original, Service: service, Pause: time.Minute, Now: func() time.Time { return now }, Work: new(background.Work),
	}}
	learn := func(doc archive.ID) (requests int, paused time.Duration) {
		f := all.Folder(true)
		f.Learn(t.Context(), &archive.Document{ID: doc}, noneListed{})
		return len(service.takeAsked()), all.Folder(true).Paused(99)
	}
	for _, c := range []struct {
		about    string
		after    time.Duration
		doc      archive.ID
		requests int
		paused   time.Duration // in another folder
	}{
		{"the first document may be broken", 0, 1, 1, 0},
		{"the same one", 0, 1, 1, 0},
		{"a second one", 0, 2, 1, time.Minute},
		{"a third one", 20 * time.Second, 3, 0, 40 * time.Second},
		{"one after the pause", 40 * time.Second, 4, 1, time.Minute},
	} {
		now = now.Add(c.after)
		requests, paused := learn(c.doc)
		if requests != c.requests || paused != c.paused {
			t.Errorf("%s: %d requests, then a pause of %s; want %d and %s", c.about, requests, paused, c.requests, c.paused)
		}
	}
	now = now.Add(time.Minute)
	service.answers["5 original"] = archive.KindNotFound
	learn(5)
	delete(service.answers, "original")
	f := all.Folder(false)
	f.Learn(t.Context(), &archive.Document{ID: 6}, noneListed{})
	if size, ok := f.Get(6); !ok || size != 1 || all.Folder(true).Paused(99) != 0 {
		t.Errorf("after an answer: %d bytes, %v", size, ok)
	}
}
