package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// backlog is what is still to be sent to the archive.
type backlog struct {
	what    string // is still to be sent; empty for uploads
	uploads int
	bytes   int64
	rows    int64 // of a database, which come last
}

func (b *backlog) add(bytes int64) {
	b.uploads++
	b.bytes += bytes
}

func (b *backlog) String() string {
	if b.uploads == 0 && b.rows > 0 {
		return plural(int(b.rows), "row")
	}
	return plural(b.uploads, cmp.Or(b.what, "upload")) + ", " + size(b.bytes)
}

// after is what is left when some of it was done.
func (b *backlog) after(done backlog) *backlog {
	return &backlog{what: b.what, uploads: max(0, b.uploads-done.uploads), bytes: max(0, b.bytes-done.bytes), rows: max(0, b.rows-done.rows)}
}

// rowWork is how many bytes of a content take about as long as a row.
const rowWork = 4 << 10

// work is how much a bar shows for it: an upload counts also when it has no bytes.
func (b *backlog) work() int64 { return b.bytes + int64(b.uploads) + b.rows*rowWork }

// progress shows a shrinking backlog in the last line of a terminal. Its methods may be
// called concurrently.
type progress struct {
	terminal io.Writer

	mu sync.Mutex
	// bar is nil while nothing is shown.
	bar *progressbar.ProgressBar // +checklocks:mu
	// total is the most work that there was.
	total int64 // +checklocks:mu
}

// newProgress returns nil where out is no terminal.
func newProgress(out io.Writer) *progress {
	if isTerminal(out) {
		return &progress{terminal: out}
	}
	return nil
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// show shows what is left now. The terminal's own errors are nobody's business.
func (p *progress) show(left *backlog) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch work := left.work(); {
	case p.bar == nil:
		p.total = work
		p.bar = progressbar.NewOptions64(work, progressbar.OptionSetWriter(p.terminal),
			progressbar.OptionSetWidth(30), progressbar.OptionUseANSICodes(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(true))
	case work > p.total: // more was put in meanwhile
		p.total = work
		p.bar.ChangeMax64(work)
	}
	p.bar.Describe(left.String() + " left")
	_ = p.bar.Set64(p.total - left.work())
}

// follow shows what is left of all, again and again, until stop, which ends the line. To find out
// all may take long; its context ends with stop. Without a terminal nothing is asked.
func (p *progress) follow(ctx context.Context, all func(context.Context) backlog, done func() backlog) (stop func()) {
	if p == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		all := all(ctx)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				p.show(all.after(done()))
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		p.end()
	}
}

// end removes the line. Without a terminal there is none.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
}

// Write writes above the line. It is for a log that goes to the same terminal.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	return p.terminal.Write(text)
}

// +checklocks:p.mu
func (p *progress) clearLocked() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
