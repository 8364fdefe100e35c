package apiclient

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

func TestRequestsPauseAfterRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, status := 0, http.StatusUnauthorized
		c := newBubbleService(t, func(w http.ResponseWriter, _ *http.Request) {
			sent++
			reply(w, status, mediaJSON, `{"inboxes":[]}`)
		}, func(cfg *Config) { cfg.RetryFor = -1 })
		ask := func() error {
			_, err := c.Inboxes(t.Context())
			return err
		}
		expect := func(requests int, paused bool) {
			t.Helper()
			before := sent
			err := ask()
			wantKind(t, err, OpInboxes, archive.KindUnauthorized)
			if got := strings.Contains(err.Error(), "requests pause"); got != paused || sent-before != requests {
				t.Fatalf("paused %t, want %t; %d requests, want %d; %v", got, paused, sent-before, requests, err)
			}
		}
		for range refusalsAllowed {
			expect(1, false)
		}
		for _, pause := range []time.Duration{30, 60, 120, 240, 480, 600, 600} {
			expect(0, true)
			time.Sleep(pause*time.Second - time.Nanosecond)
			expect(0, true)
			time.Sleep(time.Nanosecond)
			expect(1, false) // the probe
		}
		time.Sleep(10 * time.Minute)
		status = http.StatusOK
		for range 2 {
			if err := ask(); err != nil {
				t.Fatal(err)
			}
		}
		status = http.StatusUnauthorized
		for range refusalsAllowed {
			expect(1, false)
		}
		expect(0, true)
	})
}

func TestOnlyOneProbeGoesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lockout
		for range refusalsAllowed {
			probe, err := l.enter()
			if probe || err != nil {
				t.Fatal(probe, err)
			}
			l.leave(probe, true, false)
		}
		time.Sleep(firstPause)
		probe, err := l.enter()
		if !probe || err != nil {
			t.Fatal(probe, err)
		}
		if _, err := l.enter(); err == nil {
			t.Error("a second probe goes through")
		}
		l.leave(false, false, false) // a request from before the pause
		if _, err := l.enter(); err == nil {
			t.Error("a second probe goes through after another request has ended")
		}
		l.leave(probe, false, false) // no answer: another probe may try
		if probe, err := l.enter(); !probe || err != nil {
			t.Error("no probe after one without an answer")
		}
	})
}
