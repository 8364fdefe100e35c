package notify

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

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
