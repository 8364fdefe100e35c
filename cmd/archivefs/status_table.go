package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
)

// statusTable writes lines whose parts, separated by tabs, stand below each other.
type statusTable struct{ w *tabwriter.Writer }

func (t *statusTable) row(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) } //nolint:errcheck // Flush tells

// printStatus writes the status of the mount at dir as a table.
func printStatus(out io.Writer, dir string, s *fs.Status) error {
	t := &statusTable{w: tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)}
	t.row("service\t%s", s.Service)
	t.row("mounted\t%s (process %d, version %s)", s.Mounted.Local().Format(time.DateTime), s.PID, s.Version)
	t.row("health\t%s", healthInWords(dir, s))
	if s.Cure != "" {
		t.row("what to do\t%s", s.Cure)
	}
	if s.Disk != "" {
		t.row("disk\t%s", s.Disk)
	}
	for i, e := range s.LastErrors {
		t.row("%s\t%s  %s%s", onlyFirst(i, "last errors"), e.Time.Local().Format(time.DateTime), e.Text, mendedInWords(e.Mended))
	}
	for i, r := range s.LastRefusals {
		t.row("%s\t%s  %s %s: %s", onlyFirst(i, "last refusals"), r.Time.Local().Format(time.DateTime), r.Operation, r.Path, r.Reason)
	}
	t.uploads(&s.Uploads)
	t.caches(&s.Cache)
	sent, received := traffic(s.Requests)
	t.row("traffic\t%s sent, %s received", size(sent), size(received))
	t.requests(s.Requests)
	return t.w.Flush()
}

// mendedInWords says of something that failed when it succeeded after all.
func mendedInWords(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return "; it succeeded at " + at.Local().Format(time.DateTime)
}

func (t *statusTable) uploads(u *fs.UploadStatus) {
	counts := map[string]int{}
	for i := range u.List {
		counts[u.List[i].State]++
	}
	t.row("uploads\t%d being sent, %d pending, %d failed, %s on disk", u.Sending, counts["pending"], counts["failed"], size(u.Bytes))
	if u.Local > 0 {
		t.row("\t%s here alone, temporary or empty", doing(u.Local, "file", "is", "are"))
	}
	for i := range u.List {
		if up := &u.List[i]; up.Sent > 0 && up.Size > 0 {
			t.row("\t%s %3d %% of %s  %s", bar(up.Sent, up.Size), 100*up.Sent/up.Size, size(up.Size), up.Path)
		}
	}
}

// bar shows how much of all is done, in 20 columns.
func bar(done, all int64) string {
	const columns = 20
	n := int(columns * min(done, all) / all)
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", columns-n) + "]"
}

func (t *statusTable) caches(c *fs.CacheStatus) {
	opens := c.Content.Hits + c.Content.Misses
	t.row("content cache\t%s, %s of %s; %d of %s from it%s", plural(c.Content.Files, "document"), size(c.Content.Bytes),
		size(c.Content.Limit), c.Content.Hits, plural(opens, "open"), rate(c.Content.Hits, opens))
	known := c.Documents.Hits + c.Documents.Ahead
	all := known + c.Documents.Misses
	t.row("listings\t%s known; %d of %s from memory%s", plural(c.Documents.Entries, "folder"), known, plural(all, "look-up"), rate(known, all))
}

// rate is hits of all in words, nothing where it is plain.
func rate(hits, all uint64) string {
	if hits == 0 || hits == all {
		return ""
	}
	return fmt.Sprintf(" (%d %%)", 100*hits/all)
}

// traffic adds up the bytes of the bodies of requests and of answers.
func traffic(requests []archive.OperationStats) (sent, received int64) {
	for i := range requests {
		sent += requests[i].Sent
		received += requests[i].Received
	}
	return sent, received
}

// requests tells of each operation how often it was asked, and how long the heads of the
// answers took.
func (t *statusTable) requests(all []archive.OperationStats) {
	if len(all) > 0 {
		t.row("\nOPERATION\tREQUESTS\tFAILED\tREPEATED\tSENT\tRECEIVED\tMEAN\tHALF WITHIN\t99 %% WITHIN")
	}
	for i := range all {
		r := &all[i]
		mean := time.Duration(0)
		if r.Requests > 0 {
			mean = r.Total / time.Duration(r.Requests)
		}
		t.row("%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s", r.Operation, r.Requests, r.Failures, r.Retries, size(r.Sent), size(r.Received),
			mean.Round(10*time.Microsecond), within(&r.Latency, 0.5), within(&r.Latency, 0.99))
	}
}

// within is the time within which a share of the answers came.
func within(l *archive.Latency, share float64) string {
	if bound, ok := l.Within(share); ok {
		return bound.String()
	}
	return "-"
}

// onlyFirst is text in the first row of several that belong together.
func onlyFirst(i int, text string) string {
	if i > 0 {
		return ""
	}
	return text
}

// plural counts things: 1 document, 2 documents.
func plural[N int | uint64](n N, word string) string { return english.Plural(int(n), word, "") }

// doing counts things that do something: 1 upload waits, 2 uploads wait.
func doing(n int, word, one, several string) string {
	return plural(n, word) + " " + english.PluralWord(n, one, several)
}

func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
