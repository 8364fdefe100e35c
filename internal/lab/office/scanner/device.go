//go:build linux

package scanner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// device is a device that scans.
type device struct {
	server Server
	dial   func(ctx context.Context) (line, error)
	line   line // nil when there is none
	log    func(format string, args ...any)
}

// errCut says that the connection was cut as planned.
var errCut = errors.New("the connection was cut")

// attempts are how often a device tries, with a pause between two of them.
const (
	attempts = 40
	between  = 500 * time.Millisecond
)

// do does a job, again until it is told that it is done.
func (d *device) do(ctx context.Context, j *Job, scans []*Scan) {
	w := &work{Job: j, ctx: ctx, cutAfter: j.Cut}
	for _, s := range scans {
		for range attempts {
			err := d.try(w, s)
			if s.Told = err == nil; s.Told {
				break
			}
			d.hangUp()
			if j.Kind == BrokenOff && errors.Is(err, errCut) {
				s.Left = d.server == Samba // what FTP had sent may not have arrived
				return
			}
			if ctx.Err() != nil {
				return
			}
			w.again = w.again || s.Kind == Resumed && errors.Is(err, errCut)
			d.log("%s: %s (%s): %v", d.server, s.Name, s.Kind, err)
			select {
			case <-time.After(between):
			case <-ctx.Done():
			}
		}
	}
}

func (d *device) hangUp() {
	if d.line != nil {
		d.line.cut()
		d.line = nil
	}
}

// work is a job under way.
type work struct {
	*Job
	ctx      context.Context
	writes   int  // until now
	cutAfter int  // the write after which the connection is cut, 0 for none
	again    bool // what broke off is resumed, and not begun again
}

// try tries to write a paper.
func (d *device) try(w *work, s *Scan) (err error) {
	if d.line == nil {
		if d.line, err = d.dial(w.ctx); err != nil {
			return err
		}
	}
	switch s.Kind {
	case PageWise:
		return d.pageWise(w, s)
	case Renamed:
		temporary := fmt.Sprintf("tmp%05d.$$$", s.N)
		if err := d.write(w, s, temporary, 0); err != nil {
			return err
		}
		s.Whole++
		return d.line.rename(temporary, s.Name)
	case Resumed:
		if w.again {
			w.again = false // if this fails, too, it is begun again
			size, err := d.line.size(s.Name)
			if err != nil {
				return err
			}
			if err := d.write(w, s, s.Name, size); err != nil {
				return err
			}
			s.Whole++
			return nil
		}
	}
	if err := d.write(w, s, s.Name, 0); err != nil {
		return err
	}
	s.Whole++
	return nil
}

// write writes all from a place on, in one go.
func (d *device) write(w *work, s *Scan, name string, from int64) error {
	open := func() (io.WriteCloser, error) { return d.line.further(name, from) }
	if from == 0 {
		open = func() (io.WriteCloser, error) { return d.line.make(name) }
	}
	f, err := open()
	if err != nil {
		return err
	}
	skip := int(from)
	for i, part := range s.parts {
		if i > 0 && s.Kind != AtOnce {
			time.Sleep(w.Pause)
		}
		n := min(skip, len(part))
		skip -= n
		if err := d.page(w, f, part[n:]); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// page writes a page in pieces.
func (d *device) page(w *work, f io.Writer, part []byte) error {
	for p := range slices.Chunk(part, piece) {
		if _, err := f.Write(p); err != nil {
			return err
		}
		w.writes++
		if w.writes == w.cutAfter {
			w.cutAfter = 0 // the next attempt is not cut
			d.line.cut()
			return errCut
		}
	}
	return nil
}

// pageWise writes page by page, and closes the file after each.
func (d *device) pageWise(w *work, s *Scan) error {
	at := 0
	for i, part := range s.parts {
		f, err := d.next(s.Name, i, int64(at))
		if err != nil {
			return err
		}
		if err := d.page(w, f, part); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := f.Close(); err != nil {
			return err
		}
		at += len(part)
		time.Sleep(w.Pause)
	}
	s.Whole++
	return nil
}

// next opens the file for its page i.
func (d *device) next(name string, i int, at int64) (io.WriteCloser, error) {
	if i == 0 {
		return d.line.make(name)
	}
	if l, is := d.line.(*ftpLine); is {
		return l.append(name), nil
	}
	return d.line.further(name, at)
}
