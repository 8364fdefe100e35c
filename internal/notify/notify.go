// Package notify tells a person at a desktop what keeps their files from the archive, in
// notifications (org.freedesktop.Notifications).
//
// A Notifier gathers what it is told, and shows one message at a time: the first two seconds after something happened,
// so that a burst is one message, and then at most one a minute. A later message replaces the one before it, and
// contains what that said, until that was closed, chosen, or taken away by the desktop after its time.
//
// The mount never waits: the methods that tell a Notifier something take a short lock only, messages
// are shown by a goroutine of their own within a limit, and what cannot be shown is dropped.
package notify

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// showLimit bounds how long a desktop may take to show a message.
	showLimit = 20 * time.Second
	// endLimit is how long Close waits for a desktop that does not answer.
	endLimit = time.Second
)

// Message is one notification. Its texts are plain, without markup.
type Message struct {
	Summary, Body string
	// Urgent: nothing can be archived until somebody acts.
	Urgent bool
}

// Desktop shows messages, one at a time.
type Desktop interface {
	// Show shows a message in place of the one before, if that is still shown. It returns when ctx is
	// done, at the latest.
	Show(ctx context.Context, m *Message) error
	// Closed receives when the message is gone, or the person has chosen its action.
	Closed() <-chan struct{}
	// Close takes no message away.
	Close() error
}

// Notifier is safe for concurrent use.
type Notifier struct {
	desktop Desktop
	log     logrus.FieldLogger
	wake    chan struct{} // has room for one
	cancel  context.CancelFunc
	ended   chan struct{}

	mu sync.Mutex
	// gathered is what the next message says.
	gathered group // +checklocks:mu
}

// New starts a Notifier. cure says what to do when the service refuses the credentials.
func New(desktop Desktop, cure string, log logrus.FieldLogger) *Notifier {
	ctx, cancel := context.WithCancel(context.Background())
	n := &Notifier{
		desktop: desktop, log: log, wake: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{}),
		gathered: group{cure: cure},
	}
	go n.run(ctx)
	return n
}

// Close stops showing messages. What was not shown is dropped.
func (n *Notifier) Close() error {
	n.cancel()
	limit := time.NewTimer(endLimit)
	defer limit.Stop()
	select {
	case <-n.ended:
		return n.desktop.Close()
	case <-limit.C: // it ends with the process; to close it would wait for the same
		return nil
	}
}

// UploadFailed says that the archive lacks a file, and why. Path is that of the file in the mount.
// An upload that fails again, or another one of the same path, counts once.
func (n *Notifier) UploadFailed(id, path, reason string) {
	n.tell(func(g *group) { g.fail(failure{id: id, path: path, reason: reason}, time.Now()) })
}

// UploadArrived says that the archive has a file after all. It takes back what was not shown yet.
func (n *Notifier) UploadArrived(id string) {
	n.tell(func(g *group) { g.arrive(id) })
}

// Refused says that the service refuses the credentials, and how it said so.
func (n *Notifier) Refused(reason string) {
	n.tell(func(g *group) { g.trouble(&g.refused, reason, time.Now()) })
}

// DiskFailed says that the disk of the state directory takes no files, and why.
func (n *Notifier) DiskFailed(err error) {
	n.tell(func(g *group) { g.trouble(&g.disk, err.Error(), time.Now()) })
}

func (n *Notifier) tell(what func(*group)) {
	n.change(what)
	select {
	case n.wake <- struct{}{}:
	default: // it is awake
	}
}

func (n *Notifier) change(what func(*group)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what(&n.gathered)
}

// run shows messages until ctx is done.
func (n *Notifier) run(ctx context.Context) {
	defer close(n.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Stop()
		n.change(func(g *group) {
			if at, any := g.due(); any {
				timer.Reset(time.Until(at))
			}
		})
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-n.desktop.Closed():
			n.change((*group).seen)
		case <-timer.C:
			n.show(ctx)
		}
	}
}

// show shows what was gathered, or drops the message: what it says stays for the next one.
func (n *Notifier) show(ctx context.Context) {
	var m Message
	isDue := false
	n.change(func(g *group) {
		at, any := g.due()
		if isDue = any && !time.Now().Before(at); isDue {
			m = g.take(time.Now())
		}
	})
	if !isDue {
		return // the uploads arrived after all
	}
	ctx, cancel := context.WithTimeout(ctx, showLimit)
	defer cancel()
	if err := n.desktop.Show(ctx, &m); err != nil {
		n.log.Debugf("no notification was shown: %v", err)
	}
}

const (
	// settle is how long a burst is gathered before its message.
	settle = 2 * time.Second
	// between is the least time between two messages.
	between = time.Minute
	// repeatAfter is the time after which a lasting trouble is news again.
	repeatAfter = 15 * time.Minute
	// maxFailures bounds the files that are remembered; further ones are counted only.
	maxFailures = 200
	// named is how many files a message names.
	named = 3
	// maxReason bounds the text of a reason, in characters: notifications are small.
	maxReason = 200
)

// failure is a file that the archive lacks.
type failure struct {
	id, path, reason string
	shown            bool
}

// trouble is something that keeps all files from the archive.
type trouble struct {
	reason string    // empty: nothing to say
	told   time.Time // when it was news
	shown  bool
}

// group is what the next message says. It knows the time only from its callers.
type group struct {
	cure          string
	failures      []failure // the oldest first; one for each path
	further       int       // failures beyond maxFailures
	disk, refused trouble
	since         time.Time // of the oldest that was not shown; zero if all was
	last          time.Time // when the last message was taken
}

// fail adds a failure, or replaces the one of the same upload or path.
func (g *group) fail(f failure, now time.Time) {
	at := slices.IndexFunc(g.failures, func(o failure) bool { return o.id == f.id || o.path == f.path })
	switch {
	case at >= 0 && g.failures[at].id == f.id && g.failures[at].reason == f.reason:
		return
	case at >= 0:
		g.failures = slices.Delete(g.failures, at, at+1)
	case len(g.failures) >= maxFailures:
		g.further++
		g.news(now)
		return
	}
	g.failures = append(g.failures, f)
	g.news(now)
}

// arrive forgets the failure of an upload.
func (g *group) arrive(id string) {
	g.failures = slices.DeleteFunc(g.failures, func(f failure) bool { return f.id == id })
	if g.further == 0 && !slices.ContainsFunc(g.failures, func(f failure) bool { return !f.shown }) && !g.disk.isNews() && !g.refused.isNews() {
		g.since = time.Time{}
	}
}

// trouble notes one of the troubles. The same one lasts, and is news only once in a while.
func (g *group) trouble(t *trouble, reason string, now time.Time) {
	if !t.told.IsZero() && now.Sub(t.told) < repeatAfter {
		return
	}
	*t = trouble{reason: reason, told: now}
	g.news(now)
}

func (t *trouble) isNews() bool { return t.reason != "" && !t.shown }

func (g *group) news(now time.Time) {
	if g.since.IsZero() {
		g.since = now
	}
}

// due returns when the next message is due, if there is one.
func (g *group) due() (at time.Time, any bool) {
	if g.since.IsZero() {
		return time.Time{}, false
	}
	at = g.since.Add(settle)
	if next := g.last.Add(between); at.Before(next) {
		at = next
	}
	return at, true
}

// take returns the message, and waits for what comes next.
func (g *group) take(now time.Time) Message {
	for _, t := range []*trouble{&g.disk, &g.refused} {
		if t.shown && now.Sub(t.told) >= repeatAfter {
			t.reason = "" // it would have been told again
		}
	}
	m := g.message()
	for i := range g.failures {
		g.failures[i].shown = true
	}
	g.disk.shown, g.refused.shown = true, true
	g.since, g.last = time.Time{}, now
	return m
}

// seen forgets what was shown: the person knows.
func (g *group) seen() {
	g.failures = slices.DeleteFunc(g.failures, func(f failure) bool { return f.shown })
	if g.since.IsZero() {
		g.further = 0
	}
	for _, t := range []*trouble{&g.disk, &g.refused} {
		if t.shown {
			t.reason = ""
		}
	}
}

// message is what the group says. Its summary is the worst of it.
func (g *group) message() Message {
	var m Message
	var body []string
	say := func(summary string, lines ...string) {
		if m.Summary == "" {
			m.Summary = summary
		} else {
			body = append(body, summary+".")
		}
		body = append(body, lines...)
	}
	if g.disk.reason != "" {
		m.Urgent = true
		say("No room for files on their way to the archive", "The disk of this machine takes no files: "+short(g.disk.reason)+".")
	}
	if g.refused.reason != "" {
		m.Urgent = true
		lines := []string{"It says: " + short(g.refused.reason) + "."}
		if g.cure != "" {
			lines = append(lines, "What to do: "+g.cure+".")
		}
		say("The archive refuses the credentials", lines...)
	}
	switch n := len(g.failures) + g.further; {
	case n == 0:
	case n > 1:
		say(fmt.Sprintf("%d files could not be archived", n), g.reasons(n)...)
	case g.further == 1: // the others arrived
		say("A file could not be archived")
	default:
		f := &g.failures[0]
		say(path.Base(f.path)+" could not be archived", "In "+path.Dir(f.path)+": "+short(f.reason)+".")
	}
	m.Body = strings.Join(body, "\n")
	return m
}

// reasons are the lines for n failures, one for each reason, with the newest first.
func (g *group) reasons(n int) (lines []string) {
	left := named
	for i := len(g.failures) - 1; i >= 0 && left > 0; i-- {
		reason := g.failures[i].reason
		if slices.ContainsFunc(g.failures[i+1:], func(f failure) bool { return f.reason == reason }) {
			continue // that line has it
		}
		var names []string
		for j := i; j >= 0 && left > 0; j-- {
			if g.failures[j].reason == reason {
				names = append(names, path.Base(g.failures[j].path))
				left--
			}
		}
		lines = append(lines, strings.Join(names, ", ")+": "+short(reason)+".")
	}
	if shown := named - left; n > shown {
		lines = append(lines, fmt.Sprintf("And %d more.", n-shown))
	}
	return lines
}

// short bounds a reason.
func short(reason string) string {
	if r := []rune(reason); len(r) > maxReason {
		return string(r[:maxReason-1]) + "…"
	}
	return strings.TrimSuffix(reason, ".")
}
