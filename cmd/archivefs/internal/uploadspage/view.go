package uploadspage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/fs"
)

// view is what a page shows. Its names and reasons are printable; the templates escape them.
type view struct {
	T   *texts
	Dir string // the mount point

	// Locked is why the page is not shown.
	Locked string
	// Ask is the upload that is to be discarded.
	Ask *upload

	Service string
	// Said is what became of the last decision.
	Said *said

	// Health is the state in words; Bad marks one that needs somebody.
	Health string
	Bad    bool
	// Details are further reasons, in English.
	Details []string
	Cure    string
	// AsOf is when the state was seen, if the mount does not answer now.
	AsOf string
	// Known: the lists below are.
	Known                    bool
	Failed, Waiting, Local   []*upload
	FailedCount, WaitingText string
	Plot                     *plot
}

// said is the result of a decision.
type said struct {
	Name, Text, Reason string
	Bad                bool
}

// upload is a line of a list.
type upload struct {
	T                *texts
	ID, Name, Folder string
	// Why says what is the matter in the reader's language, Reason how the mount says it.
	Why, Reason      string
	Size, Changed    string
	ChangedAt        string // RFC 3339
	Percent          int64
	Progress         string // empty: it is not being sent
	Retry            string // the label of the button; empty for none
	Incomplete       bool
	MaySave, MayDrop bool
}

// newView makes the view of what is known of the mount at dir.
func newView(t *texts, dir string, s seen) *view {
	v := &view{T: t, Dir: archive.Printable(dir)}
	switch {
	case s.silent:
		v.Health, v.Bad = t.Silent, true
	case s.err != nil:
		v.Health, v.Bad, v.Details = t.NoStatus, true, []string{archive.Printable(s.err.Error())}
		return v // what was there before is nobody's any more
	}
	if s.status == nil {
		return v
	}
	v.Known, v.Service = true, s.status.Service
	if s.silent {
		v.AsOf = t.time(s.at)
	} else {
		v.health(s.status)
	}
	for i := range s.status.Uploads.List {
		u := v.upload(&s.status.Uploads.List[i])
		if s.status.Uploads.List[i].State == "failed" {
			v.Failed = append(v.Failed, u)
		} else {
			v.Waiting = append(v.Waiting, u)
		}
	}
	for i := range s.status.Uploads.Locals {
		v.Local = append(v.Local, v.upload(&s.status.Uploads.Locals[i]))
	}
	if n := len(v.Failed); n > 0 {
		v.FailedCount = count(n, t.OneFailed, t.ManyFailed)
	}
	if n := len(v.Waiting); n > 0 {
		v.WaitingText = count(n, t.OneWaits, t.ManyWait)
	}
	v.Plot = newPlot(t, s.samples)
	return v
}

// health says how the mount is.
func (v *view) health(s *fs.Status) {
	t := v.T
	v.Bad = s.Health != fs.HealthOK
	switch s.Health {
	case fs.HealthOK:
		v.Health = t.OK
	case fs.HealthAway:
		v.Health = t.Away
		if s.Cure != "" {
			v.Health, v.Cure = t.Refused, s.Cure
		}
		if len(s.LastErrors) > 0 {
			v.Details = []string{s.LastErrors[0].Text}
		}
	case fs.HealthDisk:
		v.Health, v.Details = t.Disk, []string{s.Disk}
	case fs.HealthFailing: // the number of failed uploads says so
	default:
		v.Health = s.Health
	}
}

// say adds the result of a decision, if there is one.
func (v *view) say(r *result) {
	switch {
	case r == nil:
	case r.err == nil:
		v.Said = &said{Name: r.name, Text: r.what(v.T)}
	case errors.Is(r.err, errGone):
		v.Said = &said{Text: v.T.Gone, Bad: true}
	case errors.Is(r.err, ErrSilent):
		v.Said = &said{Name: r.name, Text: v.T.MayStill, Bad: true}
	default:
		v.Said = &said{Name: r.name, Text: v.T.NotDone, Reason: archive.Printable(r.err.Error()), Bad: true}
	}
}

// upload is the line of an upload.
func (v *view) upload(u *fs.UploadInfo) *upload {
	t := v.T
	l := &upload{
		T: t, ID: u.ID, Name: path.Base(u.Path), Folder: path.Dir(u.Path), Reason: u.Error, Size: t.size(u.Size),
		Changed: t.time(u.Changed), ChangedAt: u.Changed.Format(time.RFC3339), MaySave: !u.Directory, MayDrop: true,
	}
	if u.Directory {
		l.Size = t.Folder
	}
	failed := u.State == "failed"
	switch {
	case u.State == fs.StateLocal:
		l.Why = t.IsLocal
	case failed && u.Never != "":
		l.Why, l.Reason = t.IsNever, command.Join(u.Error, u.Never)
	case failed && u.Incomplete:
		l.Why, l.Retry, l.Incomplete = t.IsIncomplete, t.AsItIs, true
	case failed:
		l.Why, l.Retry = t.IsRefused, t.Retry
	case u.InDoubt:
		l.Why, l.Retry, l.MayDrop = t.IsInDoubt, t.RetryNow, false
	case u.Waits:
		l.Why, l.Retry = t.Waits, t.RetryNow
	case u.Sent > 0 && u.Size > 0:
		l.Why, l.MayDrop = t.IsSent, false
		l.Percent = 100 * min(u.Sent, u.Size) / u.Size
		l.Progress = fmt.Sprintf(t.SentOf, l.Percent)
		if l.Percent == 100 {
			l.Why = t.IsAllSent
		}
	default:
		l.Why, l.MayDrop = t.IsQueued, false
	}
	return l
}

// The plot, in units of its view box.
const (
	plotWidth  = 600.0
	plotHeight = 100.0
)

// plot is the traffic of the last minutes.
type plot struct {
	// Sent and Received are the points of lines, as SVG has them.
	Sent, Received string
	// SentNow and ReceivedNow are the rates at the end, Scale what the plot shows.
	SentNow, ReceivedNow, Scale string
}

// newPlot draws samples; nil if there are too few.
func newPlot(t *texts, samples []sample) *plot {
	if len(samples) < 2 {
		return nil
	}
	end := samples[len(samples)-1].at
	type rate struct{ from, to, sent, received float64 }
	var rates []rate
	highest := 1024.0 // bytes/s
	x := func(at time.Time) float64 { return plotWidth * (1 - float64(end.Sub(at))/float64(plotted)) }
	for i := 1; i < len(samples); i++ {
		a, b := samples[i-1], samples[i]
		seconds := max(b.at.Sub(a.at).Seconds(), 0.001)
		r := rate{x(a.at), x(b.at), max(0, float64(b.sent-a.sent)) / seconds, max(0, float64(b.received-a.received)) / seconds}
		highest = max(highest, r.sent, r.received)
		rates = append(rates, r)
	}
	var sent, received strings.Builder
	for _, r := range rates { // steps: a rate is that of a time, not of an instant
		for _, line := range []struct {
			b    *strings.Builder
			rate float64
		}{{&sent, r.sent}, {&received, r.received}} {
			y := plotHeight * (1 - line.rate/highest)
			fmt.Fprintf(line.b, "%.1f,%.1f %.1f,%.1f ", r.from, y, r.to, y)
		}
	}
	last := rates[len(rates)-1]
	perSecond := func(n float64) string { return fmt.Sprintf(t.PerSecond, t.size(int64(n))) }
	return &plot{
		Sent: strings.TrimSpace(sent.String()), Received: strings.TrimSpace(received.String()),
		SentNow: perSecond(last.sent), ReceivedNow: perSecond(last.received), Scale: fmt.Sprintf(t.LastMinutes, perSecond(highest)),
	}
}

const (
	// fresh is how long a status is shown before the mount is asked again.
	fresh = time.Second
	// slowest is the longest pause before a mount that does not answer is asked again.
	slowest = time.Minute
	// plotted is the time that the plot of the traffic shows.
	plotted = 5 * time.Minute
)

// watch asks the mount for its status when somebody looks, once at a time.
type watch struct {
	mount Mount

	mu   sync.Mutex
	last seen // +checklocks:mu
	// asked is when the running request began, or the last one; ended when the last one ended.
	asked, ended time.Time // +checklocks:mu
	// answer is closed when the running request has ended; nil if none runs.
	answer chan struct{} // +checklocks:mu
	// outdated: the mount is asked although it was just now, or is being asked.
	outdated bool // +checklocks:mu
	// pause is how long not to ask a mount that did not answer.
	pause time.Duration // +checklocks:mu
}

// seen is what is known of the mount.
type seen struct {
	status  *fs.Status // the last one; nil for none
	at      time.Time  // of status
	err     error      // of the last request
	silent  bool       // the mount does not answer
	samples []sample   // of the last minutes, the oldest first
}

// sample is the traffic with the service up to a time, in bytes.
type sample struct {
	at             time.Time
	sent, received int64
}

// why is why there is no current status, nil if there is one.
func (s *seen) why() error {
	if s.silent {
		return ErrSilent
	}
	return s.err
}

func newWatch(mount Mount) *watch { return &watch{mount: mount} }

// look returns what is known, not older than fresh nor than the last outdate if the mount answers within patience.
func (w *watch) look(ctx context.Context) seen {
	// What comes may answer a question that is outdated by now.
	for answer, wait := w.ask(); answer != nil && comes(ctx, answer, wait); answer, wait = w.ask() {
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.last
	now.samples = slices.Clone(now.samples) // the next answer changes them
	now.silent = errors.Is(now.err, ErrSilent) || w.answer != nil && time.Since(w.asked) >= patience
	return now
}

// comes reports whether an answer comes in time.
func comes(ctx context.Context, answer <-chan struct{}, wait time.Duration) bool {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	select {
	case <-answer:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

// ask asks the mount, unless what is known is fresh, and returns how long the answer may still take.
func (w *watch) ask() (answer <-chan struct{}, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answer == nil && (w.outdated || time.Since(w.ended) >= max(fresh, w.pause)) {
		w.answer, w.asked, w.outdated = make(chan struct{}), time.Now(), false
		go func() {
			status, err := w.mount.Status()
			w.note(status, err)
		}()
	}
	return w.answer, patience - time.Since(w.asked)
}

// note keeps an answer.
func (w *watch) note(status *fs.Status, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.answer)
	now := time.Now()
	w.answer, w.ended, w.last.err = nil, now, err
	switch {
	case errors.Is(err, ErrSilent):
		w.pause = min(max(2*w.pause, patience), slowest)
		return
	case err != nil:
		w.pause = 0
		return
	}
	w.pause = 0
	w.last.status, w.last.at = status, now
	s := sample{at: now}
	for i := range status.Requests {
		s.sent += status.Requests[i].Sent
		s.received += status.Requests[i].Received
	}
	w.last.samples = append(slices.DeleteFunc(w.last.samples, func(o sample) bool { return now.Sub(o.at) > plotted }), s)
}

// outdate makes the next look ask the mount.
func (w *watch) outdate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outdated = true
}
