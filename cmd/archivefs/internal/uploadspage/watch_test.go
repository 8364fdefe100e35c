package uploadspage

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
)

// hanging is a mount that answers when it is told to.
type hanging struct {
	*fake
	answer chan error
	asked  chan struct{}
}

func (h *hanging) Status() (*fs.Status, error) {
	h.asked <- struct{}{}
	if err := <-h.answer; err != nil {
		return nil, err
	}
	return h.fake.Status()
}

func TestMountThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{fake: &fake{}, answer: make(chan error), asked: make(chan struct{}, 10)}
		w := newWatch(h)
		began := time.Now()
		if s := w.look(t.Context()); !s.silent || s.status != nil || time.Since(began) != patience {
			t.Errorf("%+v after %v", s, time.Since(began))
		}
		for range 5 { // nobody waits again, and the mount is not asked again
			if s := w.look(t.Context()); !s.silent || time.Since(began) != patience {
				t.Errorf("%+v after %v", s, time.Since(began))
			}
		}
		if n := len(h.asked); n != 1 {
			t.Errorf("asked %d times", n)
		}
		h.answer <- nil
		synctest.Wait()
		if s := w.look(t.Context()); s.silent || s.status == nil {
			t.Errorf("%+v, want the answer", s)
		}
	})
}

// silentMount is a mount that never answers in time.
type silentMount struct {
	Mount
	asked atomic.Int64
}

func (m *silentMount) Status() (*fs.Status, error) {
	m.asked.Add(1)
	return nil, ErrSilent
}

// A mount that does not answer is asked less and less often: each question may leave a process behind.
func TestSilentMountIsAskedLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &silentMount{}
		w := newWatch(m)
		for range 600 {
			if s := w.look(t.Context()); !s.silent {
				t.Fatalf("%+v, want silence", s)
			}
			time.Sleep(time.Second)
		}
		if n := m.asked.Load(); n != 13 { // after 4, 8, 16 and 32 s, then each minute
			t.Errorf("asked %d times", n)
		}
	})
}

func TestLookIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{status: fs.Status{Health: "a"}}
		w := newWatch(f)
		see := func(want string) {
			t.Helper()
			if s := w.look(t.Context()); s.status == nil || s.status.Health != want {
				t.Errorf("%+v, want %s", s, want)
			}
		}
		see("a")
		f.set(fs.Status{Health: "b"})
		see("a")
		w.outdate()
		see("b")
		f.set(fs.Status{Health: "c"})
		time.Sleep(fresh)
		see("c")
		f.fail(errors.New("gone"))
		time.Sleep(fresh)
		if s := w.look(t.Context()); s.err == nil {
			t.Errorf("%+v, want an error", s)
		}
	})
}

// Who looks after a decision sees what became of it, although an earlier question is still under way.
func TestLookAfterADecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{fake: &fake{}, answer: make(chan error), asked: make(chan struct{}, 10)}
		w := newWatch(h)
		saw := make(chan seen)
		go func() { saw <- w.look(t.Context()) }()
		synctest.Wait()
		w.outdate()
		h.set(fs.Status{Health: "before"})
		h.answer <- nil
		synctest.Wait()
		h.set(fs.Status{Health: "after"})
		h.answer <- nil
		if s := <-saw; s.status == nil || s.status.Health != "after" {
			t.Errorf("%+v, want what came after the decision", s)
		}
	})
}

func TestPlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{status: fs.Status{Requests: []archive.OperationStats{{}, {}}}}
		w := newWatch(f)
		if p := newPlot(&english, w.look(t.Context()).samples); p != nil {
			t.Errorf("%+v of one sample", p)
		}
		traffic := func(after time.Duration, sent, received int64) *plot {
			time.Sleep(after)
			f.set(fs.Status{Requests: []archive.OperationStats{{Sent: sent, Received: 1}, {Sent: 1, Received: received}}})
			return newPlot(&english, w.look(t.Context()).samples)
		}
		traffic(75*time.Second, 0, 0)
		p := traffic(75*time.Second, 75<<20, 150<<20)
		if p == nil || p.Sent != "300.0,100.0 450.0,100.0 450.0,50.0 600.0,50.0" || p.Received != "300.0,100.0 450.0,100.0 450.0,0.0 600.0,0.0" ||
			p.SentNow != "1.0 MiB/s" || p.ReceivedNow != "2.0 MiB/s" || p.Scale != "the last 5 minutes, at most 2.0 MiB/s" {
			t.Errorf("%+v", p)
		}
		p = traffic(time.Second, 0, 0) // another mount
		if p == nil || p.SentNow != "0 B/s" {
			t.Errorf("%+v", p)
		}
		if p = traffic(plotted+time.Second, 0, 0); p != nil {
			t.Errorf("%+v of what is long over", p)
		}
	})
}
