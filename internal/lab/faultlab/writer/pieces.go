package writer

import (
	"cmp"
	"os"
	"time"
)

// rewrite writes something else first, truncates it through a second descriptor and closes
// both.
func (p *process) rewrite() error {
	first, err := os.OpenFile(p.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return step("open", err)
	}
	_, werr := first.Write(p.Other)
	err = p.open(p.path(), os.O_WRONLY|os.O_TRUNC, func(f *os.File) error {
		if cerr := first.Close(); werr != nil || cerr != nil {
			return step("write", cmp.Or(werr, cerr))
		}
		if err := p.write(f, 0, len(p.Content)); err != nil {
			return err
		}
		return p.sync(f, 0, len(p.Content))
	})
	_ = first.Close() // where the second open failed
	return err
}

// halves writes the file in two halves and waits in between, where it may be killed.
func (p *process) halves() error {
	half := len(p.Content) / 2
	return p.open(p.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, func(f *os.File) error {
		if err := p.write(f, 0, half); err != nil {
			return err
		}
		if err := p.sync(f, 0, half); err != nil {
			return err
		}
		p.say(Event{Mark: Half})
		p.wait()
		return p.write(f, half, len(p.Content))
	})
}

// part writes one half of a file that another process writes too, and closes it when it is
// told.
func (p *process) part() error {
	begin, end, flags := 0, len(p.Content)/2, os.O_CREATE|os.O_EXCL
	if p.Part == 2 {
		begin, end, flags = end, len(p.Content), 0
	}
	err := p.open(p.path(), os.O_WRONLY|flags, func(f *os.File) error {
		if err := p.write(f, begin, end); err != nil {
			return err
		}
		p.say(Event{Mark: Half})
		p.wait()
		return p.sync(f, begin, end)
	})
	if err == nil {
		p.say(Event{Mark: Synced, Begin: begin, End: end})
	}
	return err
}

// keep leaves a file under a temporary name.
func (p *process) keep() error {
	if err := p.create(p.path()); err != nil {
		return err
	}
	p.say(Event{Mark: Synced, Begin: 0, End: len(p.Content)})
	return nil
}

// keepMore leaves half a file under a temporary name, and appends the other half later.
func (p *process) keepMore() error {
	half := len(p.Content) / 2
	err := p.open(p.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, func(f *os.File) error { return p.write(f, 0, half) })
	if err != nil {
		return err
	}
	p.say(Event{Mark: Synced, Begin: 0, End: half})
	return p.open(p.path(), os.O_WRONLY, func(f *os.File) error {
		if err := p.write(f, half, len(p.Content)); err != nil {
			return err
		}
		return p.sync(f, half, len(p.Content))
	})
}

// replace overwrites an inbox document.
func (p *process) replace() error {
	p.say(Event{Mark: Opening})
	return p.open(p.path(), os.O_WRONLY|os.O_TRUNC, func(f *os.File) error {
		if err := p.write(f, 0, len(p.Content)); err != nil {
			return err
		}
		return p.sync(f, 0, len(p.Content))
	})
}

// lookPause is longer than a listing is trusted.
const lookPause = 400 * time.Millisecond

// look lists a folder, and lists it again when it has changed at the service.
func (p *process) look() error {
	if err := p.list(); err != nil {
		return err
	}
	p.say(Event{Mark: Half})
	p.wait()
	for range 2 {
		time.Sleep(lookPause)
		if err := p.list(); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) list() error {
	entries, err := os.ReadDir(p.path())
	for _, e := range entries {
		_, _ = e.Info() // it may be gone
	}
	return step("list", err)
}
