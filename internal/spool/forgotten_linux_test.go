package spool

import (
	"math/rand/v2"
	"testing"

	forgetful "github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// On a service that shows no idempotency keys a crash brings back nothing that a close was told is archived: no
// look would find for certain that the archive has it.
func TestWhatIsArchivedStaysGoneWhereNoKeyIsShown(t *testing.T) {
	fusetest.Need(t)
	for seed := range uint64(20) {
		dir := t.TempDir()
		d := forgetful.New()
		m, err := d.Mount(dir)
		must(t, err)
		s, _ := open(t, dir, on("one"))
		s.later.end() // nothing more is synced later
		u := create(t, s, lateBill(), billBytes)
		must(t, enqueue(u))
		f := newFake()
		f.hideIDs = true
		_, err = Deliver(t.Context(), u, f, nil)
		must(t, err)
		must(t, u.Remove())
		must(t, s.free())
		must(t, m.Unmount())
		d.Crash(rand.New(rand.NewPCG(seed, 0)))
		m, err = d.Mount(dir)
		must(t, err)
		next, _ := open(t, dir, on("two"))
		for _, left := range next.List() {
			t.Errorf("seed %d: it is there again: %+v", seed, left.Record())
		}
		must(t, next.free())
		must(t, m.Unmount())
	}
}
