//go:build linux

package lab

import (
	"fmt"
	"path"
	"slices"
	"syscall"

	"github.com/archivefs/archivefs/internal/lab/faultlab/audit"
	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/writer"
)

// work is what a program has made, which it goes on with in later steps. An op that got no answer leaves
// two trees, one with what it does and one without.
type work struct {
	trees   []history.Tree
	files   map[int]*audit.File
	folders map[int]*audit.Folder
	broken  bool // a file could not be written
}

// work lets a program work.
func (s *session) work(a history.Action) {
	s.mu.Lock()
	w := s.works[a.Tree]
	if w == nil {
		w = &work{trees: []history.Tree{{}}, files: map[int]*audit.File{}, folders: map[int]*audit.Folder{}}
		s.works[a.Tree] = w
	}
	if s.Grace < history.LongGrace { // what it touches has this time of grace from now on
		for _, f := range w.files {
			s.endRest(f)
		}
	}
	s.mu.Unlock()
	if w.broken {
		return
	}
	o := s.order(a)
	for _, op := range a.Ops {
		o.Contents = append(o.Contents, nil)
		if op.Do == history.Put {
			o.Contents[len(o.Contents)-1] = s.h.Content(op.Of, op.Size)
		}
	}
	o.Content = nil
	if p, ok := s.start(o); ok {
		at := &worker{session: s, work: w, order: o, doing: p}
		p.rest(at.see)
	}
}

// worker follows a program at work.
type worker struct {
	*session
	*work
	order  *writer.Order
	doing  *process
	op     *history.Op    // that it began last
	before []history.Tree // what there was then
	file   *audit.File    // that the op writes
}

func (w *worker) see(e writer.Event) {
	if e.Mark == writer.Begins {
		if w.begins(e.Op); w.op.Do == history.Send {
			w.doing.goOn()
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace.say("%s: %s", what(&w.order.Action), e)
	switch e.Mark { // the others say nothing of what is there
	case writer.Synced:
		w.file.Accepted = append(w.file.Accepted, audit.Range{Begin: e.Begin, End: e.End})
	case writer.Closing:
		w.file.Closing = true
	case writer.Answered:
		w.answered(e)
	}
}

// begins takes note of an op that may happen from now on.
func (w *worker) begins(n int) {
	w.op, w.file = &w.order.Ops[n], nil
	if w.op.Do == history.Put {
		a := history.Action{Kind: history.Work, Index: w.op.Of}
		w.file = w.session.file(&a, w.order.Contents[n])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace.say("%s: %s %s %s %d", what(&w.order.Action), w.op.Do, w.op.Path, w.op.To, w.op.Of)
	w.before = w.trees
	switch w.op.Do { // the others make nothing
	case history.Put:
		w.files[w.op.Of] = w.file
	case history.Make:
		w.folders[w.op.Of] = &audit.Folder{What: "folder " + w.op.Path, Waits: w.Grace > 0}
	case history.Send:
		w.endRests()
	}
	w.trees = append(slices.Clone(w.before), w.after()...)
}

// after are the trees in which the op has succeeded.
func (w *worker) after() (all []history.Tree) {
	for _, t := range w.before {
		if t, ok := t.After(*w.op); ok {
			all = append(all, t)
		}
	}
	return all
}

// answered takes note of the end of an op.
func (w *worker) answered(e writer.Event) {
	told := w.told(e)
	if w.file != nil {
		w.file.Told, w.file.Time = told, w.tick()
		w.file.Refused = told == audit.Failed && e.Step == "close"
		w.broken = w.broken || told != audit.OK && e.Step != "open"
	}
	if f := w.folders[w.op.Of]; f != nil && w.op.Do == history.Make {
		f.Told = told
	}
	switch {
	case told == audit.OK:
		if w.trees = w.after(); len(w.trees) == 0 {
			w.trees = w.before
			w.odd = fmt.Errorf("%s %s %s succeeded, which nobody can explain", w.op.Do, w.op.Path, w.op.To)
		}
		w.ended()
	case told == audit.Failed && w.op.Do != history.Put && w.op.Do != history.Make && !slices.Contains(unclear, e.Errno):
		w.trees = w.before
	}
	if told != audit.OK && w.op.Do == history.Name {
		for _, t := range w.before {
			if f := w.files[t[w.op.Path]]; f != nil { // it keeps its name, perhaps as one that stays
				f.MayStay, f.Waits = true, true
			}
		}
	}
	if w.Grace == 0 && w.op.Do != history.Name && w.op.Do != history.Put {
		return
	}
	for _, t := range w.trees {
		for p, of := range t {
			if f := w.files[of]; f != nil && (w.Grace > 0 || history.Doubted(p) || w.op.Do == history.Name && p != w.op.To) {
				f.Waits = true
			}
			if f := w.folders[of]; f != nil && (w.Grace > 0 || w.op.Do == history.Name) {
				f.Waits = true
			}
		}
	}
}

// unclear are errors after which something may have happened all the same, or may happen later.
var unclear = []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.ETIMEDOUT}

// ended takes note of contents that are gone for certain.
func (w *worker) ended() {
	for _, t := range w.before {
		for _, of := range t {
			f := w.files[of]
			if f == nil || f.Over+f.Removed > 0 || slices.ContainsFunc(w.trees, func(t history.Tree) bool { return holds(t, of) }) {
				continue
			}
			if w.op.Do == history.Drop {
				f.Removed = w.tick()
			} else {
				f.Over = w.tick()
			}
		}
	}
}

func holds(t history.Tree, of int) bool {
	for _, has := range t {
		if has == of {
			return true
		}
	}
	return false
}

// conclude writes down where everything may be.
func (w *work) conclude() (folders []audit.Folder) {
	for of, f := range w.files {
		stays := 0
		for _, t := range w.trees {
			there := false
			for p, has := range t {
				switch {
				case has != of:
					continue
				case history.Stays(p):
					stays++
				default:
					f.Places = append(f.Places, audit.Place{Folder: path.Dir(p), Name: path.Base(p)})
				}
				there = true
			}
			f.Absent = f.Absent || !there
		}
		f.Stays = stays == len(w.trees)
		f.MayStay = f.MayStay || stays > 0
	}
	for of, f := range w.folders {
		for _, t := range w.trees {
			there := false
			for p, has := range t {
				if has == of && !history.Stays(p) {
					f.Paths = append(f.Paths, p)
					there = true
				}
			}
			f.Absent = f.Absent || !there
		}
		slices.Sort(f.Paths)
		f.Paths = slices.Compact(f.Paths)
		folders = append(folders, *f)
	}
	return folders
}

// endRest says that a file may be sent from now on. The caller holds mu.
func (r *run) endRest(f *audit.File) {
	if f.Rests && f.Until == 0 {
		f.Until = r.tick()
	}
}

// endRests says it of all files.
func (r *run) endRests() {
	for _, f := range r.files {
		r.endRest(f)
	}
}
