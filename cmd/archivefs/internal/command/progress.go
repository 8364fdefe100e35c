package command

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

// ProgressEvery is how often the backlog is counted.
const ProgressEvery = 200 * time.Millisecond

// Backlog is the remaining work.
type Backlog struct {
	What    string // what happens to the files; empty for uploads
	Uploads int
	Bytes   int64
	Rows    int64 // of a database, which are done last
}

// Add adds an upload of so many bytes.
func (b *Backlog) Add(bytes int64) {
	b.Uploads++
	b.Bytes += bytes
}

// String describes it in words.
func (b *Backlog) String() string {
	if b.Uploads == 0 && b.Rows > 0 {
		return Plural(int(b.Rows), "row")
	}
	return Plural(b.Uploads, cmp.Or(b.What, "upload")) + ", " + Size(b.Bytes)
}

// after is the backlog after some work is done.
func (b *Backlog) after(done Backlog) *Backlog {
	return &Backlog{What: b.What, Uploads: max(0, b.Uploads-done.Uploads), Bytes: max(0, b.Bytes-done.Bytes), Rows: max(0, b.Rows-done.Rows)}
}

// rowWork is how many bytes of a content take as long as a row.
const rowWork = 4 << 10

// work is the work in the unit of the bar: an upload without bytes counts, too.
func (b *Backlog) work() int64 { return b.Bytes + int64(b.Uploads) + b.Rows*rowWork }

// Progress shows a shrinking backlog in the last line of a terminal. Its methods may be called
// concurrently.
type Progress struct {
	terminal io.Writer

	mu sync.Mutex
	// bar is nil while nothing is shown.
	bar *progressbar.ProgressBar // +checklocks:mu
	// total is the most work so far.
	total int64 // +checklocks:mu
}

// NewProgress returns nil if out is no terminal.
func NewProgress(out io.Writer) *Progress {
	if IsTerminal(out) {
		return &Progress{terminal: out}
	}
	return nil
}

// IsTerminal reports whether out is a terminal.
func IsTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Show shows the current backlog. It ignores errors of the terminal.
func (p *Progress) Show(left *Backlog) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch work := left.work(); {
	case p.bar == nil:
		p.total = work
		p.bar = progressbar.NewOptions64(work, progressbar.OptionSetWriter(p.terminal),
			progressbar.OptionSetWidth(30), progressbar.OptionUseANSICodes(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(true))
	case work > p.total: // the work has grown
		p.total = work
		p.bar.ChangeMax64(work)
	}
	p.bar.Describe(left.String() + " left")
	_ = p.bar.Set64(p.total - left.work())
}

// Follow shows the backlog regularly until stop, which ends the line and the context of left.
// Without a terminal it does nothing.
func (p *Progress) Follow(ctx context.Context, all func(context.Context) Backlog, done func() Backlog) (stop func()) {
	if p == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		all := all(ctx)
		tick := time.NewTicker(ProgressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				p.Show(all.after(done()))
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		p.End()
	}
}

// End removes the line, if there is one.
func (p *Progress) End() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
}

// Write writes above the line, for a log on the same terminal.
func (p *Progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	return p.terminal.Write(text)
}

// +checklocks:p.mu
func (p *Progress) clearLocked() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// Pause waits a moment before something is checked again, or returns the error of ctx.
func Pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
