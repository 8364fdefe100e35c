//go:build linux

package lab

import (
	"crypto/sha256"
	"path"
	"syscall"

	"github.com/archivefs/archivefs/internal/lab/faultlab/audit"
	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/writer"
)

// move moves a document or gives it another name. After an error nobody can tell where it
// is, but it is somewhere. After none, or one that may take effect later, nobody ever can.
func (s *session) move(a history.Action) {
	d := s.docs[a.Document]
	o := s.order(a)
	o.Path, o.To = path.Join(d.dir, d.name), path.Join(a.Dir, a.Name)
	switch a.Kind { // File is as it is
	case history.Rename:
		o.To = path.Join(d.dir, a.Name)
	case history.FileAway:
		o.To = path.Join(a.New, a.Name)
	}
	f := audit.File{What: what(&a)}
	w := &witness{run: s.run, file: &f, action: a}
	s.mu.Lock()
	for _, content := range d.files { // what waits to replace it is sent before the document moves
		s.endRest(content)
	}
	s.mu.Unlock()
	if p, ok := s.start(o); ok {
		p.rest(w.see)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Kind == history.FileAway {
		s.outcome.Folders = append(s.outcome.Folders, audit.Folder{What: what(&a), Paths: []string{a.New}, Told: w.made, Waits: s.Grace > 0})
	}
	if f.Told == audit.OK {
		d.dir, d.name = path.Split(o.To)
		d.dir = path.Clean(d.dir)
	}
	d.unsure = f.Told != audit.OK
	d.late = d.late || f.Told == audit.Nothing || f.Late
	for _, content := range d.files {
		content.Folder, content.Name = d.place()
		if len(content.Places) > 0 { // of over: the first is that of the document
			content.Places[0].Folder, content.Places[0].Name = d.place()
		}
		switch elsewhere := len(content.Places) > 0 && !content.Took; { // of over: it may never have become the document
		case f.Told != audit.OK: // nobody can tell which it has
			content.Keyword = ""
		case f.Keyword != "" && !elsewhere:
			content.Keyword = f.Keyword
		}
	}
}

// place is where the document is in the archive, empty when nobody can tell.
func (d *document) place() (dir, name string) {
	if d.unsure || d.late {
		return "", ""
	}
	return d.dir, d.name
}

// read reads a document.
func (s *session) read(a history.Action) {
	d := s.docs[a.Document]
	o := s.order(a)
	o.Path = path.Join(d.dir, d.name)
	w := &witness{run: s.run, file: &audit.File{What: what(&a)}, want: d.sums()}
	if p, ok := s.start(o); ok {
		p.rest(w.see)
	}
}

// look lets a program list a folder before and after somebody else has changed it at the service.
func (s *session) look(a history.Action) {
	w := &witness{run: s.run, file: &audit.File{What: what(&a)}}
	p, ok := s.start(s.order(a))
	if ok {
		p.until(writer.Half, w.see)
	}
	content := s.h.Content(a.Index, a.Size)
	if err := s.service.change(a.Dir, a.Name, content); err != nil {
		s.trace.say("%s: %v", what(&a), err)
	} else if a.Dir == history.Mandator {
		s.mu.Lock()
		s.outcome.Others = append(s.outcome.Others, path.Join(a.Dir, a.Name))
		s.mu.Unlock()
	} else {
		f := s.file(&a, content)
		s.mu.Lock()
		f.Folder, f.Name, f.Old, f.Told = "", "", true, audit.OK
		f.Rests = false
		s.mu.Unlock()
	}
	if ok {
		p.goOn()
		p.rest(w.see)
	}
}

// replace overwrites a document.
func (s *session) replace(a history.Action) {
	d := s.docs[a.Document]
	o := s.order(a)
	o.Path = path.Join(d.dir, d.name)
	f := s.file(&a, o.Content)
	f.Folder, f.Name = d.place()
	f.Replacement, f.Replaces = true, sha256.Sum256(d.files[len(d.files)-1].Content)
	if p, ok := s.start(o); ok {
		p.rest((&witness{run: s.run, file: f}).see)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Closing {
		d.files = append(d.files, f)
	}
}

// over writes a file and renames it over a document. After an error nobody can tell which of its names it
// has, or whether it stays here.
func (s *session) over(a history.Action) {
	d := s.docs[a.Document]
	o := s.order(a)
	o.To = path.Join(d.dir, d.name)
	f := s.file(&a, o.Content)
	f.Waits = f.Waits || history.Doubted(o.Path)
	f.Folder, f.Name, f.Stays = a.Dir, a.New, history.Stays(o.Path)
	w := &witness{run: s.run, file: f, action: a}
	if p, ok := s.start(o); ok {
		p.rest(w.see)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.Opening { // of the rename
		return
	}
	f.Replacement, f.Replaces = true, sha256.Sum256(d.files[len(d.files)-1].Content)
	f.Took = w.seen && w.moved == audit.OK // else the archive may have two documents of one name
	place := audit.Place{}
	place.Folder, place.Name = d.place()
	f.Places = []audit.Place{place}
	if w.moved != audit.OK {
		f.Places = append(f.Places, audit.Place{Folder: f.Folder, Name: f.Name})
		f.Waits, f.MayStay = true, true
	}
	f.Stays = false
	d.files = append(d.files, f)
}

// witness writes down what a program says.
type witness struct {
	*run
	file *audit.File
	want []audit.Sum // of what it reads; nil: its own content

	action history.Action // of which it tells
	// made and moved are the answers of Made and Moved.
	made, moved audit.Told
	seen        bool
}

func (w *witness) see(e writer.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace.say("%s: %s", w.file.What, e)
	switch e.Mark {
	case writer.Half:
	case writer.Opening:
		w.file.Opening = true
	case writer.Synced:
		w.file.Accepted = append(w.file.Accepted, audit.Range{Begin: e.Begin, End: e.End})
	case writer.Again:
		w.file.Retried = w.tick()
		w.result.Reached["failed uploads that a person retried"]++
	case writer.Tagged:
		if e.Errno == 0 {
			w.file.Keyword = keyword(&w.action)
		}
	case writer.Made:
		w.made = w.told(e)
	case writer.Seen:
		w.seen = true
	case writer.Moved:
		w.moved = w.told(e)
		if w.moved == audit.OK && w.action.Kind == history.Move {
			w.file.Folder, w.file.Name = w.action.Dir, w.action.Name
		}
	case writer.Leaving:
		w.file.Leaving = true
	case writer.Gone:
		told := w.told(e)
		if w.file.Leaving = told == audit.Nothing; told == audit.OK {
			w.file.Removed = w.tick()
		}
	case writer.Closing:
		w.file.Closing = true
	case writer.ReadIt:
		want := w.want
		if want == nil {
			want = []audit.Sum{sha256.Sum256(w.file.Content)}
		}
		if w.h.Service.Originals() {
			w.outcome.Reads = append(w.outcome.Reads, audit.Read{What: w.file.What, Got: e.Sum, Want: want})
		}
	case writer.Done:
		w.file.Told, w.file.Time = w.told(e), w.tick()
		w.file.Refused = w.file.Told == audit.Failed && e.Step == "close"
		w.file.Late = e.Errno == syscall.ETIMEDOUT
		w.file.Opening = w.file.Opening && e.Step != "open" // which then truncated nothing
	}
}
