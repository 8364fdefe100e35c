package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
)

// screen is a Desktop that keeps what it shows.
type screen struct {
	closed chan struct{}
	hangs  bool
	fails  error

	mu    sync.Mutex
	shown []Message   // +checklocks:mu
	at    []time.Time // +checklocks:mu
}

// messages are those that were shown so far, and when.
func (s *screen) messages() ([]Message, []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shown), slices.Clone(s.at)
}

func (s *screen) Show(ctx context.Context, m *Message) error {
	s.mu.Lock()
	s.shown, s.at = append(s.shown, *m), append(s.at, time.Now())
	s.mu.Unlock()
	if s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.fails
}

func (s *screen) Closed() <-chan struct{} { return s.closed }
func (s *screen) Close() error            { return nil }

// stuck is a Desktop that never comes back from showing its first message, nor lets itself be closed meanwhile.
type stuck struct {
	shows chan struct{} // closed when it shows one
	freed chan struct{}
}

func (s *stuck) Show(context.Context, *Message) error {
	close(s.shows)
	<-s.freed
	return nil
}

func (s *stuck) Closed() <-chan struct{} { return nil }

func (s *stuck) Close() error {
	<-s.freed
	return nil
}

// The end does not wait for a desktop that is stuck.
func TestCloseWhileTheDesktopIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{shows: make(chan struct{}), freed: make(chan struct{})}
		n := New(s, "", silent())
		n.Refused("no")
		<-s.shows
		ended := make(chan error, 1)
		go func() { ended <- n.Close() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(limit):
			t.Error("it waits for the desktop")
		}
		close(s.freed)
	})
}

func silent() logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// onScreen runs a test of a Notifier in a bubble, whose clock moves when all wait.
func onScreen(t *testing.T, test func(*testing.T, *Notifier, *screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &screen{closed: make(chan struct{})}
		n := New(s, "ask Erika", silent())
		test(t, n, s)
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
}

// wantShown fails the test unless these messages were shown, each as "SUMMARY\nBODY".
func (s *screen) wantShown(t *testing.T, want ...string) {
	t.Helper()
	shown, _ := s.messages()
	if len(shown) != len(want) {
		t.Fatalf("%d messages were shown, want %d: %+v", len(shown), len(want), shown)
	}
	for i := range want {
		if got := shown[i].Summary + "\n" + shown[i].Body; got != want[i] {
			t.Errorf("message %d is %q, want %q", i, got, want[i])
		}
	}
}

func later(d time.Duration) {
	time.Sleep(d) // the clock of the bubble
	synctest.Wait()
}

const one = "a.pdf could not be archived\nIn Muster GmbH/Rechnungen: no room."

func TestOneFailure(t *testing.T) {
	onScreen(t, func(t *testing.T, n *Notifier, s *screen) {
		n.UploadFailed("1", "Muster GmbH/Rechnungen/a.pdf", "no room")
		n.UploadFailed("1", "Muster GmbH/Rechnungen/a.pdf", "no room") // told from two places
		later(settle - 1)
		s.wantShown(t)
		later(time.Hour)
		s.wantShown(t, one)
		if shown, _ := s.messages(); shown[0].Urgent {
			t.Error("one failure is urgent")
		}
	})
}

func TestAtMostOneAMinute(t *testing.T) {
	onScreen(t, func(t *testing.T, n *Notifier, s *screen) {
		for i := range 1000 {
			n.UploadFailed(fmt.Sprint(i), fmt.Sprintf("A/%d.pdf", i), "no room")
			later(time.Second)
		}
		later(time.Hour)
		shown, at := s.messages()
		for i := 1; i < len(at); i++ {
			if apart := at[i].Sub(at[i-1]); apart < between {
				t.Errorf("message %d came %v after the one before", i, apart)
			}
		}
		if len(shown) != 18 { // after 2 s, and in each of 17 minutes
			t.Errorf("%d messages", len(shown))
		}
		if last := shown[len(shown)-1]; last.Summary != "1000 files could not be archived" || !strings.HasSuffix(last.Body, "\nAnd 997 more.") {
			t.Errorf("the last is %+v", last)
		}
	})
}

func TestWhatHappensMeanwhileIsGathered(t *testing.T) {
	onScreen(t, func(t *testing.T, n *Notifier, s *screen) {
		n.UploadFailed("1", "Muster GmbH/Rechnungen/a.pdf", "no room")
		later(settle)
		n.UploadFailed("2", "B/b.pdf", "not permitted")
		later(time.Second)
		n.UploadFailed("3", "B/c.pdf", "no room")
		later(time.Hour)
		s.wantShown(t, one, "3 files could not be archived\nc.pdf, a.pdf: no room.\nb.pdf: not permitted.")

		// Once the person has closed the message, the next one is about what is new.
		s.closed <- struct{}{}
		n.UploadFailed("4", "Muster GmbH/Rechnungen/a.pdf", "no room")
		later(time.Hour)
		s.wantShown(t, one, "3 files could not be archived\nc.pdf, a.pdf: no room.\nb.pdf: not permitted.", one)
	})
}

func TestAFileThatFailsAgainCountsOnce(t *testing.T) {
	onScreen(t, func(t *testing.T, n *Notifier, s *screen) {
		n.UploadFailed("1", "Muster GmbH/Rechnungen/a.pdf", "credentials refused")
		n.UploadFailed("2", "Muster GmbH/Rechnungen/a.pdf", "no room")
		later(time.Hour)
		s.wantShown(t, one)
	})
}

func TestWhatArrivesInTimeIsNotTold(t *testing.T) {
	onScreen(t, func(t *testing.T, n *Notifier, s *screen) {
		n.UploadFailed("1", "A/a.pdf", "no room")
		n.UploadArrived("1")
		later(time.Hour)
		s.wantShown(t)
	})
}

func TestTroubles(t *testing.T) {
	onScreen(t, func(t *testing.T, n *Notifier, s *screen) {
		for range 60 { // each request says so
			n.Refused("credentials refused (401)")
			later(10 * time.Second)
		}
		refused := "The archive refuses the credentials\nIt says: credentials refused (401).\nWhat to do: ask Erika."
		s.wantShown(t, refused)
		n.DiskFailed(syscall.ENOSPC)
		n.UploadFailed("1", "Muster GmbH/Rechnungen/a.pdf", "no room")
		later(time.Hour)
		s.wantShown(t, refused, "No room for files on their way to the archive\nThe disk of this machine takes no files: no space left on device.\n"+
			strings.ReplaceAll(refused, "credentials\n", "credentials.\n")+"\na.pdf could not be archived.\nIn Muster GmbH/Rechnungen: no room.")
		if shown, _ := s.messages(); !shown[0].Urgent || !shown[1].Urgent {
			t.Error("nothing can be archived, and that is not urgent")
		}
		n.Refused("credentials refused (401)") // an hour later that is news
		later(time.Hour)
		if shown, _ := s.messages(); len(shown) != 3 {
			t.Errorf("%d messages", len(shown))
		}
	})
}

func TestADesktopThatHangs(t *testing.T) {
	onScreen(t, func(t *testing.T, n *Notifier, s *screen) {
		s.hangs = true
		n.UploadFailed("1", "A/a.pdf", "no room")
		later(settle)
		for i := range 10 * maxFailures { // none of these waits
			n.UploadFailed(fmt.Sprint("b", i), fmt.Sprint("B/", i), "no room")
		}
		later(time.Hour)
		shown, _ := s.messages()
		if last := shown[len(shown)-1]; len(shown) != 2 || last.Summary != "2001 files could not be archived" {
			t.Errorf("%d messages, the last %+v", len(shown), last)
		}
		n.UploadFailed("c", "C/c.pdf", "no room")
		later(settle) // and Close waits no longer than that message
	})
}

func TestNoDesktop(t *testing.T) {
	onScreen(t, func(t *testing.T, n *Notifier, s *screen) {
		s.fails = errors.New("nobody is there")
		n.UploadFailed("1", "Muster GmbH/Rechnungen/a.pdf", "no room")
		later(24 * time.Hour)
		s.wantShown(t, one) // tried once
	})
}

func TestLongReason(t *testing.T) {
	onScreen(t, func(t *testing.T, n *Notifier, s *screen) {
		n.UploadFailed("1", "A/a.pdf", strings.Repeat("ä", 10_000))
		later(time.Hour)
		s.wantShown(t, "a.pdf could not be archived\nIn A: "+strings.Repeat("ä", maxReason-1)+"….")
	})
}
