//go:build linux

package lab

import (
	"crypto/sha256"
	"path"

	"github.com/archivefs/archivefs/internal/faultlab/audit"
	"github.com/archivefs/archivefs/internal/faultlab/history"
	"github.com/archivefs/archivefs/internal/faultlab/writer"
)

// move moves a document or gives it another name. After an error nobody can tell where it
// is, but it is somewhere.
func (s *session) move(a history.Action) {
	d := s.docs[a.Document]
	o := s.order(a)
	o.Path, o.To = path.Join(d.dir, d.name), path.Join(a.Dir, a.Name)
	if a.Kind == history.Rename {
		o.To = path.Join(d.dir, a.Name)
	}
	f := audit.File{What: what(&a)}
	if p, ok := s.start(o); ok {
		p.rest((&witness{run: s.run, file: &f}).see)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, name := "", ""
	if f.Told == audit.OK {
		dir, name = path.Split(o.To)
		dir = path.Clean(dir)
		d.dir, d.name = dir, name
	}
	for _, content := range d.files {
		content.Folder, content.Name = dir, name
	}
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

// replace overwrites a document.
func (s *session) replace(a history.Action) {
	d := s.docs[a.Document]
	o := s.order(a)
	o.Path = path.Join(d.dir, d.name)
	f := s.file(&a, o.Content)
	f.Folder, f.Name = d.dir, d.name
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

// witness writes down what a program says.
type witness struct {
	*run
	file *audit.File
	want []audit.Sum // of what it reads; nil: its own content
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
		w.file.Told, w.file.Time = told(e), w.tick()
		w.file.Refused = w.file.Told == audit.Failed && e.Step == "close"
	}
}
