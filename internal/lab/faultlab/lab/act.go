//go:build linux

package lab

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"

	"github.com/archivefs/archivefs/internal/lab/faultlab/audit"
	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/writer"
)

// act carries out an action, and returns when its programs have ended.
func (s *session) act(a history.Action) {
	switch a.Kind { // the others put one file
	case history.Mkdir:
		s.mkdir(a)
	case history.File, history.Rename, history.FileAway:
		s.move(a)
	case history.Work:
		s.work(a)
	case history.Over:
		s.over(a)
	case history.Read:
		s.read(a)
	case history.Look:
		s.look(a)
	case history.Replace:
		s.replace(a)
	case history.Two, history.TwoKilled:
		s.two(a)
	default:
		s.put(a, nil)
	}
}

// order is what the program of an action is told.
func (s *session) order(a history.Action) *writer.Order {
	o := &writer.Order{Action: a, Root: s.mountpoint(), Path: path.Join(a.Dir, a.Name), Content: s.h.Content(a.Index, a.Size), Program: s.bench.Program}
	if a.Tagged && a.Kind != history.Rename {
		o.Keyword = keyword(&a)
	}
	switch a.Kind { // the others are as they are
	case history.Cut, history.CutRetry:
		o.Content = append([]byte("%PDF-1.4\n"), o.Content...)
	case history.Temporary:
		o.Path, o.To = path.Join(a.Dir, a.Temp()), o.Path
	case history.Move:
		o.Path, o.To = path.Join(a.From, a.Draft()), o.Path
	case history.Keep, history.KeepMore:
		o.Path = path.Join(a.Dir, a.Temp())
	case history.Rewrite:
		o.Other = []byte("what is truncated again must never be archived")
	case history.Over:
		o.Path = path.Join(a.Dir, a.New)
	case history.Mkdir, history.File, history.Rename, history.Read, history.FileAway:
		o.Content = nil
	case history.Look:
		o.Path, o.Content = a.Dir, nil
	}
	return o
}

func keyword(a *history.Action) string { return fmt.Sprintf("k%d", a.Index) }

func what(a *history.Action) string { return fmt.Sprintf("%s %d", a.Kind, a.Index) }

// file begins the record of a content that a program puts in.
func (s *session) file(a *history.Action, content []byte) *audit.File {
	f := &audit.File{
		What: what(a), Folder: a.Dir, Name: a.Name, Content: content,
		Stays: a.Kind == history.Keep || a.Kind == history.KeepMore || a.Kind == history.Cut,
		Waits: s.Grace > 0, Rests: s.Grace == history.LongGrace,
	}
	if a.Kind == history.Move {
		f.Folder, f.Name = "", "" // until the move is answered
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, f)
	return f
}

// put lets a program write one file. half, when it is given, is closed when half of it is
// written; then the program waits for the end of the session.
func (s *session) put(a history.Action, half chan<- struct{}) {
	o := s.order(a)
	w := &witness{run: s.run, file: s.file(&a, o.Content), action: a}
	p, ok := s.start(o)
	switch {
	case !ok:
	case a.Kind == history.Killed:
		p.until(writer.Half, w.see)
		p.kill()
	case a.Kind == history.KillClose:
		p.until(writer.Closing, w.see)
		p.kill()
	case a.Kind == history.CutRetry || a.Kind == history.Retry:
		p.until(writer.Again, w.see)
	case half != nil:
		p.until(writer.Half, w.see)
	}
	if half != nil {
		close(half)
		<-s.release
	}
	if ok {
		p.goOn()
		p.rest(w.see)
	}
	if a.Dir != history.Folder && a.Dir != history.Inbox {
		s.reached("files put into a folder that is queued", w.file.Told)
	}
}

// reached counts what was accepted while the service was away.
func (s *session) reached(name string, told audit.Told) {
	if told != audit.OK || !s.proxy.Away() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Reached[name]++
}

// start starts the program of an action; ok is false when the machine is down.
func (s *session) start(o *writer.Order) (p *process, ok bool) {
	s.trace.say("%s: begins: %s %s", what(&o.Action), o.Path, o.To)
	p, err := s.bench.start(s.ctx, o)
	return p, err == nil
}

// two lets two programs write a half each. The first closes before the second, or both at
// once, or the second is killed instead.
func (s *session) two(a history.Action) {
	o := s.order(a)
	f := s.file(&a, o.Content)
	parts := [2]audit.File{{What: f.What + ", first half"}, {What: f.What + ", second half"}}
	var programs [2]*process
	for i := range programs {
		half := *o
		half.Part = i + 1
		p, ok := s.start(&half)
		w := &witness{run: s.run, file: &parts[i]}
		if !ok || !p.until(writer.Half, w.see) {
			break
		}
		programs[i] = p
	}
	together := a.Index%2 == 0 && a.Kind == history.Two
	for i, p := range programs {
		switch {
		case p == nil:
		case i == 1 && a.Kind == history.TwoKilled || programs[1] == nil: // half a file is none
			p.kill()
		default:
			p.goOn()
		}
		if p != nil && !together {
			p.rest((&witness{run: s.run, file: &parts[i]}).see)
		}
	}
	for i, p := range programs {
		if p != nil && together {
			p.rest((&witness{run: s.run, file: &parts[i]}).see)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	join(f, &parts[0], &parts[1])
}

// join makes of what the writers of two halves were told what was told about the file.
func join(f, a, b *audit.File) {
	f.Accepted = slices.Concat(a.Accepted, b.Accepted)
	f.Closing = a.Closing && b.Closing
	f.Time = max(a.Time, b.Time)
	switch {
	case a.Told == audit.OK && b.Told == audit.OK:
		f.Told = audit.OK
	case a.Told == audit.Failed || b.Told == audit.Failed:
		f.Told, f.Refused = audit.Failed, f.Closing && (a.Refused || b.Refused)
	}
}

// mkdir makes a folder.
func (s *session) mkdir(a history.Action) {
	f := audit.File{What: what(&a)}
	if p, ok := s.start(s.order(a)); ok {
		p.rest((&witness{run: s.run, file: &f}).see)
	}
	s.reached("folders made while the service was away", f.Told)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Folders = append(s.outcome.Folders, audit.Folder{What: what(&a), Paths: []string{path.Join(a.Dir, a.Name)}, Told: f.Told, Waits: s.Grace > 0})
}

// sums are the contents that a document may have.
func (d *document) sums() []audit.Sum {
	var all []audit.Sum
	for _, f := range d.files {
		all = append(all, sha256.Sum256(f.Content))
	}
	return all
}
