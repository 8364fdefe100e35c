package apiclient

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// busyService answers 503 while told so, each after two seconds, as a service does that
// waits for its database. Those of a document are told apart.
type busyService struct {
	busy, documentBusy atomic.Bool
	asked              atomic.Int32 // requests that were answered 503
}

func (s *busyService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.busy.Load() || s.documentBusy.Load() && strings.HasSuffix(r.URL.Path, "/pdf") {
		s.asked.Add(1)
		slowly(2*time.Second, busy("5"))(w, r)
		return
	}
	reply(w, http.StatusOK, mediaJSON, "[]")
}

// wantBusy fails the test unless a listing fails as one of a busy service, unsent.
func wantBusy(t *testing.T, c *Client, limit time.Duration) {
	t.Helper()
	wantUnsent(t, c, limit, archive.KindBusy)
}

// Only the first call waits as Retry-After says; for the others the service is away, and
// busy, until a probe finds it.
func TestWhileTheServiceIsBusyCallsFailAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s busyService
		c := newBubbleService(t, s.ServeHTTP)
		s.busy.Store(true)
		took, err := timedList(t, c)
		wantKind(t, err, OpDocumentList, archive.KindBusy)
		if took < DefaultRetryFor || took > DefaultRetryFor+retry.MaxRetryAfter {
			t.Fatalf("the first call fails after %s: %v", took, err)
		}
		before := s.asked.Load()
		wantBusy(t, c, probePatience) // begins a probe
		for range 100 {
			wantBusy(t, c, probePatience)
		}
		_, err = c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
		if archive.KindOf(err) != archive.KindBusy || archive.Doubtful(err) {
			t.Errorf("an upload fails with %v", err)
		}
		time.Sleep(2*time.Second + 5*time.Second - time.Second - time.Nanosecond)
		wantBusy(t, c, 0)
		if n := s.asked.Load() - before; n != 1 {
			t.Errorf("%d requests before the probe's Retry-After is over, want the probe's", n)
		}
		s.busy.Store(false)
		time.Sleep(time.Nanosecond)
		wantBack(t, c)
	})
}

// A call that was answered 503 and then something else waits as long as it was told.
func TestOneBusyAnswerIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		c := newBubbleService(t, failing(&sent, 1, busy("5"), "[]"))
		if took, err := timedList(t, c); took != 5*time.Second || err != nil {
			t.Errorf("after %s: %v", took, err)
		}
		wantBack(t, c)
	})
}

// An upload is not repeated here after 503, so that one says nothing about an outage.
func TestABusyAnswerToAnUploadIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		c := newBubbleService(t, failing(&sent, 1, busy("5"), "[]"))
		if _, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x")); !archive.Doubtful(err) {
			t.Fatalf("an upload that may have arrived: %v", err)
		}
		wantBack(t, c)
	})
}

// What cannot be had of one document keeps nobody from the others.
func TestABusyDocumentIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s busyService
		c := newBubbleService(t, s.ServeHTTP)
		s.documentBusy.Store(true)
		wantKind(t, download(t.Context(), c, 4), OpPDF, archive.KindBusy)
		wantBack(t, c)
	})
}

// 503 from what comes back first, as a proxy or a service without its database, is the end
// of no outage, but from then on the reason.
// A service that takes too long for one picture answers the next call, and nothing fails unsent because of it.
func TestAPictureThatTakesTooLongIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		defer close(gate)
		c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/preview") {
				select {
				case <-gate:
				case <-r.Context().Done():
				}
				return
			}
			answer(http.StatusOK, mediaJSON, "[]")(w, r)
		})
		_, err := c.Content(t.Context(), archive.ContentRequest{Document: 7, Representation: archive.Preview})
		if archive.KindOf(err) != archive.KindTimeout {
			t.Fatalf("the picture: %v", err)
		}
		wantBack(t, c)
	})
}

func TestAnOutageGoesOnBehind503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l line
		c := newBubbleService(t, busy("1"), l.cable)
		l.refuses.Store(true)
		if _, err := timedList(t, c); archive.KindOf(err) != archive.KindUnreachable {
			t.Fatal(err)
		}
		wantAway(t, c, 0)
		l.refuses.Store(false)
		time.Sleep(probeEvery)
		wantBusy(t, c, 0)
		_, err := timedList(t, c)
		var e *archive.Error
		if !errors.As(err, &e) || e.Status != 0 || !strings.Contains(err.Error(), "HTTP 503") {
			t.Errorf("got %v", err)
		}
	})
}
