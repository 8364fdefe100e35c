package apiclient

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// held is a service whose requests about documents, or all, hang until they are let go.
type held struct {
	all       bool
	release   chan struct{}
	now, peak atomic.Int32 // requests in flight
}

func (h *held) serve(w http.ResponseWriter, r *http.Request) {
	n := h.now.Add(1)
	defer h.now.Add(-1)
	for p := h.peak.Load(); n > p && !h.peak.CompareAndSwap(p, n); p = h.peak.Load() {
	}
	if h.all || strings.HasSuffix(r.URL.Path, "/pdf") || strings.HasSuffix(r.URL.Path, "/data") {
		<-h.release
	}
	reply(w, http.StatusOK, "text/plain", "[]")
}

// download fetches a document and gives its slot back.
func download(ctx context.Context, c *Client, doc archive.ID) error {
	content, err := c.Content(ctx, archive.ContentRequest{Document: doc, Representation: archive.PDF})
	if err != nil {
		return err
	}
	return errors.Join(content.Body.Close(), content.Body.Close()) // a second Close does nothing
}

func TestConnectionsAreBoundedAndSomeAreKeptForWhatIsShort(t *testing.T) {
	for _, tt := range []struct{ connections, documents int32 }{{16, 12}, {5, 4}, {4, 3}, {2, 1}} {
		synctest.Test(t, func(t *testing.T) {
			service := held{release: make(chan struct{})}
			c := newBubbleService(t, service.serve, func(cfg *Config) { cfg.Connections = int(tt.connections) })
			errs := make(chan error)
			for i := range 20 {
				go func() { errs <- download(t.Context(), c, archive.ID(i+1)) }()
			}
			synctest.Wait()
			if n := service.now.Load(); n != tt.documents {
				t.Errorf("%d of %d connections are used for documents, want %d", n, tt.connections, tt.documents)
			}
			if _, err := c.Documents(t.Context(), 7, archive.ListOptions{}); err != nil {
				t.Errorf("list while documents hang: %v", err)
			}
			if err := c.Delete(t.Context(), 4); err != nil {
				t.Errorf("delete while documents hang: %v", err)
			}
			close(service.release)
			for range 20 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if n := service.peak.Load(); n > tt.connections {
				t.Errorf("%d requests at once, want at most %d", n, tt.connections)
			}
		})
	}
}

func TestWhatIsShortMayUseAllConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := held{all: true, release: make(chan struct{})}
		c := newBubbleService(t, service.serve, func(cfg *Config) { cfg.Connections = 4 })
		errs := make(chan error)
		for i := range 9 {
			go func() {
				_, err := c.Documents(t.Context(), archive.ID(i+1), archive.ListOptions{})
				errs <- err
			}()
		}
		synctest.Wait()
		if n := service.now.Load(); n != 4 {
			t.Errorf("%d requests at once, want 4", n)
		}
		close(service.release)
		for range 9 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// Erika and Hans are two people.
var (
	erika = person{uid: 1001, some: true}
	hans  = person{uid: 1002, some: true}
)

// isFree reports whether a slot is free.
func (w *slot) isFree() bool {
	select {
	case <-w.free:
		return true
	default:
		return false
	}
}

// holds returns how many slots a person has.
func (s *slots) holds(who person) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.people[who].held.all
}

// queueUpOften queues up n times, and returns the slots that are free and those that are not.
func queueUpOften(s *slots, who person, content bool, n int) (free, waiting []*slot) {
	for range n {
		if w := s.queueUp(who, content); w.isFree() {
			free = append(free, w)
		} else {
			waiting = append(waiting, w)
		}
	}
	return free, waiting
}

// One person has all connections while nobody else needs any, and then as many as others.
func TestPeopleGetFairShares(t *testing.T) {
	s := newSlots(16)
	held, _ := queueUpOften(s, erika, false, 100)
	if len(held) != 16 {
		t.Fatalf("somebody alone has %d slots, want 16", len(held))
	}
	theirs, waiting := queueUpOften(s, hans, false, 100)
	for i := range 8 {
		if len(theirs) > 0 {
			t.Fatalf("there were %d more than 16 slots", len(theirs))
		}
		s.leave(held[i])
		if !waiting[i].isFree() {
			t.Errorf("slot %d went to who has more of them", i)
		}
	}
	if n := s.holds(erika); n != 8 {
		t.Errorf("they have %d and %d slots, want 8 each", n, s.holds(hans))
	}
	if s.leave(held[8]); s.holds(erika) != 8 {
		t.Error("a slot of a half went to the other half")
	}
}

// However much somebody requests, and however slow that is, others find a free connection.
func TestNobodyTakesAllConnectionsWhileThereAreOthers(t *testing.T) {
	for _, tt := range []struct{ connections, contents, all int }{{16, 9, 12}, {8, 5, 6}, {4, 3, 3}, {2, 1, 2}, {1, 1, 1}} {
		s := newSlots(tt.connections)
		s.leave(s.queueUp(hans, false))
		contents, _ := queueUpOften(s, erika, true, 100)
		short, _ := queueUpOften(s, erika, false, 100)
		if len(contents) != tt.contents || len(contents)+len(short) != tt.all {
			t.Errorf("of %d slots somebody has %d for contents and %d more, want %d, and %d in all",
				tt.connections, len(contents), len(short), tt.contents, tt.all)
		}
		if tt.connections >= 4 && !s.queueUp(hans, false).isFree() {
			t.Errorf("of %d slots none is left for others", tt.connections)
		}
	}
}

// What happens in the background is one person's, and does not make a crowd of somebody alone.
func TestTheBackgroundIsOnePerson(t *testing.T) {
	s := newSlots(16)
	prefetched, _ := queueUpOften(s, person{}, false, 16)
	own, waiting := queueUpOften(s, erika, false, 4)
	if len(prefetched) != 16 || len(own) != 0 {
		t.Fatalf("%d and %d slots", len(prefetched), len(own))
	}
	more := s.queueUp(person{}, false)
	for i, w := range waiting {
		if s.leave(prefetched[i]); !w.isFree() || more.isFree() {
			t.Errorf("slot %d went to the background again", i)
		}
	}
}

// Of several who have as many slots, the next is given to who was given one longest ago, however long
// the others' lines are.
func TestPeopleTakeTurns(t *testing.T) {
	s := newSlots(1)
	now := s.queueUp(erika, false)
	_, first := queueUpOften(s, erika, false, 3)
	_, second := queueUpOften(s, hans, false, 2)
	last := s.queueUp(person{uid: 1003, some: true}, true)
	for i, next := range []*slot{second[0], last, first[0], second[1], first[1], first[2]} {
		if s.leave(now); !next.isFree() {
			t.Fatalf("turn %d went to somebody else", i)
		}
		now = next
	}
	if s.leave(now); s.inFlight() != 0 {
		t.Errorf("%d slots are taken", s.inFlight())
	}
}

// A day later somebody who was alone before is alone again.
func TestPeopleWhoHaveLeftAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(16)
		s.leave(s.queueUp(hans, false))
		s.leave(s.queueUp(erika, false))
		time.Sleep(acquainted + time.Second)
		if held, _ := queueUpOften(s, erika, false, 100); len(held) != 16 {
			t.Errorf("%d slots, want 16", len(held))
		}
	})
}

// A request is sent on behalf of whom the context names, and its time in the queue is not the
// service's.
func TestTimeInTheQueueIsCountedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := held{all: true, release: make(chan struct{})}
		asked := make(chan uint32, 2)
		type key struct{}
		c := newBubbleService(t, service.serve, func(cfg *Config) {
			cfg.Connections = 1
			cfg.Person = func(ctx context.Context) (uint32, bool) {
				uid, ok := ctx.Value(key{}).(uint32)
				asked <- uid
				return uid, ok
			}
		})
		errs := make(chan error)
		for uid := range uint32(2) {
			go func() {
				_, err := c.Documents(context.WithValue(t.Context(), key{}, 1001+uid), 7, archive.ListOptions{})
				errs <- err
			}()
		}
		synctest.Wait()
		time.Sleep(10 * time.Second)
		close(service.release)
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if sum := <-asked + <-asked; sum != 1001+1002 {
			t.Errorf("the requests were for others, %d", sum)
		}
		stats := c.Stats()[0]
		if stats.Waited != 10*time.Second || stats.Total != 10*time.Second {
			t.Errorf("waited %v, and took %v", stats.Waited, stats.Total)
		}
		if in, ok := stats.Waits.Within(0.5); !ok || in != time.Millisecond {
			t.Errorf("half of them waited up to %v", in)
		}
	})
}

// Who stops waiting for a slot leaves none taken behind.
func TestWaitForASlotThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := held{all: true, release: make(chan struct{})}
		c := newBubbleService(t, service.serve, func(cfg *Config) { cfg.Connections = 2 })
		first := make(chan error, 3)
		for range 2 {
			go func() {
				_, err := c.Inboxes(t.Context())
				first <- err
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { first <- download(ctx, c, 4) }() // has the slot of documents, waits for one of all
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		close(service.release)
		for range 2 {
			if err := <-first; err != nil {
				t.Error(err)
			}
		}
		for range 3 {
			if err := download(t.Context(), c, 4); err != nil {
				t.Error(err)
			}
		}
	})
}
