package writer

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
)

// run does what the action says.
func (p *process) run() error {
	switch p.Kind {
	case history.Write, history.KillClose:
		return p.writeAndReadBack()
	case history.Cut:
		return p.create(p.path())
	case history.CutRetry, history.Retry:
		return p.createAndRetry()
	case history.Copy:
		if err := p.create(p.path()); err != nil {
			return err
		}
		_ = os.Chmod(p.path(), 0o640)                                  //nolint:gosec // as cp does; the answer is not of interest
		_ = os.Chtimes(p.path(), time.Unix(1e9, 0), time.Unix(1e9, 0)) // nor this one
		return nil
	case history.Temporary:
		if err := p.keep(); err != nil {
			return err
		}
		p.say(Event{Mark: Closing})
		return step("rename", os.Rename(p.path(), p.to()))
	case history.Rewrite:
		return p.rewrite()
	case history.Killed, history.Hanging:
		return p.halves()
	case history.Two, history.TwoKilled:
		return p.part()
	case history.Keep:
		return p.keep()
	case history.KeepMore:
		return p.keepMore()
	case history.Move:
		return p.createAnd(func() {
			p.say(outcome(Moved, step("rename", os.Rename(p.path(), p.to()))))
		})
	case history.Remove:
		return p.createAnd(func() {
			p.say(Event{Mark: Leaving})
			p.say(outcome(Gone, step("remove", os.Remove(p.path()))))
		})
	case history.Mkdir:
		return step("mkdir", os.Mkdir(p.path(), 0o700))
	case history.File, history.Rename:
		p.tag()
		return step("rename", os.Rename(p.path(), p.to()))
	case history.Replace:
		return p.replace()
	case history.Read:
		return p.read()
	case history.Look:
		return p.look()
	case history.Work:
		p.work()
		return nil
	case history.Over:
		return p.over()
	case history.FileAway:
		p.tag()
		return p.fileAway()
	}
	return step("open", os.ErrInvalid)
}

func (p *process) path() string { return filepath.Join(p.Root, p.Path) }
func (p *process) to() string   { return filepath.Join(p.Root, p.To) }

// create writes a new file and closes it.
func (p *process) create(path string) error {
	return p.open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, func(f *os.File) error {
		if err := p.write(f, 0, len(p.Content)); err != nil {
			return err
		}
		p.tag()
		return p.sync(f, 0, len(p.Content))
	})
}

// tag sets the keyword on the file, where there is one to set. What comes of it is no outcome of
// the action.
func (p *process) tag() {
	if p.Keyword != "" {
		p.say(outcome(Tagged, step("tag", xattr.Set(p.path(), "user.archive.keywords", []byte(p.Keyword)))))
	}
}

// createAnd writes a new file and closes it, and then goes on if that was answered with 0.
func (p *process) createAnd(then func()) error {
	err := p.create(p.path())
	p.answer(err)
	if err == nil {
		then()
	}
	return err
}

// open opens a file, lets work write to it, and closes it. The close answers last, but an
// error of the work is the outcome.
func (p *process) open(path string, flags int, work func(*os.File) error) error {
	f, err := os.OpenFile(path, flags, 0o600) //nolint:gosec // the lab names it
	if err != nil {
		return step("open", err)
	}
	werr := work(f)
	if werr == nil && p.Kind != history.Temporary {
		p.say(Event{Mark: Closing})
	}
	cerr := f.Close()
	if werr != nil {
		return werr
	}
	return step("close", cerr)
}

// write writes a part of the content, in pieces, at its place.
func (p *process) write(f *os.File, begin, end int) error {
	for off := begin; off < end; off += p.Chunk {
		piece := p.Content[off:min(end, off+p.Chunk)]
		if _, err := f.WriteAt(piece, int64(off)); err != nil {
			return step("write", err)
		}
	}
	return nil
}

// sync makes what was written durable, where the action asks for it.
func (p *process) sync(f *os.File, begin, end int) error {
	if !p.Fsync {
		return nil
	}
	if err := f.Sync(); err != nil {
		return step("fsync", err)
	}
	p.say(Event{Mark: Synced, Begin: begin, End: end})
	return nil
}

func (p *process) writeAndReadBack() error {
	return p.createAnd(func() { _ = p.read() })
}

// read reads the file. That it cannot be read is no violation, so that is no outcome.
func (p *process) read() error {
	content, err := os.ReadFile(p.path())
	if err == nil {
		p.say(Event{Mark: ReadIt, Sum: sha256.Sum256(content)})
	}
	return nil
}
