package writer

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
)

// work does one op after the other, until the mount has gone or a file cannot be written.
func (p *process) work() {
	for i, o := range p.Ops {
		p.say(Event{Mark: Begins, Op: i})
		if o.Do == history.Send { // what is sent from now on may be
			p.wait()
		}
		err := p.op(&o, p.Contents[i])
		e := outcome(Answered, err)
		e.Op = i
		p.say(e)
		switch e.Errno {
		case 0, syscall.EPERM, syscall.ENOENT, syscall.EEXIST, syscall.EBUSY, syscall.ENOTEMPTY:
		default:
			return
		}
		if err != nil && o.Do == history.Put {
			return
		}
	}
}

// op does one thing.
func (p *process) op(o *history.Op, content []byte) error {
	path, to := filepath.Join(p.Root, o.Path), filepath.Join(p.Root, o.To)
	switch o.Do {
	case history.Make:
		return step("mkdir", os.Mkdir(path, 0o700))
	case history.Put:
		p.Content = content
		return p.open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, func(f *os.File) error {
			if err := p.write(f, 0, len(content)); err != nil {
				return err
			}
			return p.sync(f, 0, len(content))
		})
	case history.Name:
		return step("rename", syscall.Rename(path, to)) // os.Rename refuses folders that are there
	case history.Drop:
		return step("remove", os.Remove(path))
	case history.Send:
		return step("send", xattr.Set(path, "user.archive.send", nil))
	case history.Pause:
		time.Sleep(o.For)
	}
	return nil
}

// over writes a file in the inbox and renames it over a document.
func (p *process) over() error {
	return p.createAnd(func() {
		if _, err := os.Stat(p.to()); err == nil {
			p.say(Event{Mark: Seen})
		}
		p.say(Event{Mark: Opening})
		p.say(outcome(Moved, step("rename", os.Rename(p.path(), p.to()))))
	})
}

// fileAway makes a folder and moves an inbox document into it.
func (p *process) fileAway() error {
	err := os.Mkdir(filepath.Join(p.Root, p.New), 0o700)
	p.say(outcome(Made, step("mkdir", err)))
	if errors.Is(err, syscall.ENOTCONN) {
		return step("mkdir", err)
	}
	return step("rename", os.Rename(p.path(), p.to()))
}
