package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// operation is a change through the mount, with a count of its effects.
type operation struct {
	route   string
	do      func(*mounted) error
	effects func(*foreign) int
}

// named counts the documents with a name and content in a folder.
func (f *foreign) named(folder int64, name, content string) (n int) {
	for _, d := range f.Documents(folder) {
		if d.Name == name && string(d.Content) == content {
			n++
		}
	}
	return n
}

var operations = map[string]operation{
	"upload": {
		route: "/file-upload",
		do: func(m *mounted) error {
			return os.WriteFile(m.path("Muster GmbH", "Briefe", "neu.txt"), []byte("Inhalt"), 0o600)
		},
		effects: func(f *foreign) int { return f.named(f.letters, "neu.txt", "Inhalt") },
	},
	"upload by rename": {
		route: "/file-upload",
		do: func(m *mounted) error {
			part := m.path("Muster GmbH", "Briefe", "neu.txt.part")
			if err := os.WriteFile(part, []byte("Inhalt"), 0o600); err != nil {
				return err
			}
			return os.Rename(part, m.path("Muster GmbH", "Briefe", "neu.txt"))
		},
		effects: func(f *foreign) int { return f.named(f.letters, "neu.txt", "Inhalt") },
	},
	"replace": {
		route: "/document/{id}/replace",
		do: func(m *mounted) error {
			return os.WriteFile(m.path("inboxes", "Administrator", "scan.txt"), []byte("neu"), 0o600)
		},
		effects: func(f *foreign) int { return f.named(f.inbox, "scan.txt", "neu") },
	},
	"archive": {
		route: "/document/{id}/archive",
		do: func(m *mounted) error {
			return os.Rename(m.path("inboxes", "Administrator", "scan.txt"), m.path("Muster GmbH", "Briefe", "scan.txt"))
		},
		effects: func(f *foreign) int { return f.named(f.letters, "scan.txt", "alt") },
	},
	"folder": {
		route: "/folder/create",
		do:    func(m *mounted) error { return os.Mkdir(m.path("Muster GmbH", "Neu"), 0o700) },
		effects: func(f *foreign) (n int) {
			for _, d := range f.Folders(f.mandator) {
				if d.Name == "Neu" {
					n++
				}
			}
			return n
		},
	},
	"rename": {
		route: "/document/{id}/rename",
		do: func(m *mounted) error {
			return os.Rename(m.path("inboxes", "Administrator", "scan.txt"), m.path("inboxes", "Administrator", "anders.txt"))
		},
		effects: func(f *foreign) int { return f.named(f.inbox, "anders.txt", "alt") },
	},
	"delete": {
		route:   "/document/{id}/delete",
		do:      func(m *mounted) error { return os.Remove(m.path("inboxes", "Administrator", "scan.txt")) },
		effects: func(f *foreign) int { return 1 - f.named(f.inbox, "scan.txt", "alt") },
	},
}

// failure is an end in doubt. A temporary one (passing) must not fail the operation.
type failure struct {
	do      func() hostile.Action
	times   int
	passing bool
}

var failures = map[string]failure{
	"lost before":       {func() hostile.Action { return hostile.DropBefore() }, 1, true},
	"lost after":        {func() hostile.Action { return hostile.DropAfter() }, 1, true},
	"lost in between":   {func() hostile.Action { return hostile.DropDuring(3) }, 1, true},
	"500 before":        {func() hostile.Action { return hostile.Answer(500, "") }, 1, true},
	"502 after":         {func() hostile.Action { return hostile.AnswerAfter(502, "<html>Bad Gateway</html>") }, 1, true},
	"503 before":        {func() hostile.Action { return hostile.Answer(503, "", "Retry-After", "0") }, 1, true},
	"503 after":         {func() hostile.Action { return hostile.AnswerAfter(503, "", "Retry-After", "0") }, 1, true},
	"429 before":        {func() hostile.Action { return hostile.Answer(429, "") }, 1, true},
	"always lost":       {func() hostile.Action { return hostile.DropBefore() }, hostile.Always, false},
	"always lost after": {func() hostile.Action { return hostile.DropAfter() }, hostile.Always, false},
	"refused":           {func() hostile.Action { return hostile.Answer(400, "no") }, hostile.Always, false},
	"a login page":      {func() hostile.Action { return hostile.LoginPage() }, hostile.Always, false},
}

// services are services that make it hard to find out the outcome.
var services = map[string]hostile.Config{
	"public":             {},
	"nothing but eight":  {OnlyEight: true},
	"listed late":        {Upload: hostile.UploadShape{VisibleAfter: 1}},
	"no external ids":    {Data: hostile.DataShape{HideExternalID: true}},
	"answers without id": {Upload: hostile.UploadShape{Answer: hostile.UploadEmpty}},
	"neither":            {Data: hostile.DataShape{HideExternalID: true}, Upload: hostile.UploadShape{Answer: hostile.UploadEmpty, VisibleAfter: 1}},
	"ids stay":           {ArchiveKeepsID: true},
}

// queued reports whether there is an upload that close had accepted, because the file is finished
// only at RELEASE.
func (m *mounted) queued() bool { return len(m.uploads()) == 1 }

// Success means one effect, an error at most one. On a service that reveals enough, temporary
// failures cause no error.
func TestChangesTakeEffectOnce(t *testing.T) {
	t.Parallel()
	for opName := range operations {
		for failName, fail := range failures {
			for svcName, cfg := range services {
				t.Run(opName+"/"+failName+"/"+svcName, func(t *testing.T) {
					t.Parallel()
					reveals := svcName == "public" || svcName == "ids stay"
					for _, tries := range []time.Duration{2 * time.Second, 20 * time.Second} { // a busy machine may use up the first
						err := tookEffectOnce(t, opName, fail, cfg, tries)
						switch {
						case err == nil || !fail.passing || !reveals:
							return
						case tries > 2*time.Second:
							t.Error(err)
						}
					}
				})
			}
		}
	}
}

// tookEffectOnce returns the error of an operation that fails on its way.
func tookEffectOnce(t *testing.T, name string, fail failure, cfg hostile.Config, tries time.Duration) error {
	t.Helper()
	op := operations[name]
	f := newForeign(t, cfg)
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
	m := f.mount(t, func(o *fs.Options) { o.AllowDelete = true })
	if fail.passing {
		m.tries(tries)
	}
	f.Fault(hostile.Fault{Method: "POST", Path: op.route, Times: fail.times, Do: fail.do()})
	err := op.do(m)
	n := op.effects(f)
	switch {
	case n > 1:
		t.Errorf("took effect %d times (%v)", n, err)
	case err == nil && n != 1 && !m.queued():
		t.Error("did not take effect, and no error")
	}
	if ups := m.uploads(); name == "upload" && n == 0 && len(ups) != 1 {
		t.Errorf("not archived, and the uploads are %+v", ups)
	}
	f.ClearFaults()
	m.remount()
	if now := op.effects(f); now != n {
		t.Errorf("took effect %d times, after a fresh mount %d times", n, now)
	}
	return err
}

// A late request is not sent twice: the service carries it out after the client has given it up.
func TestLateRequestIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"upload", "upload by rename", "folder", "archive", "replace", "rename"} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
			m := f.mount(t, nil)
			gate := hostile.NewGate()
			op := operations[name]
			f.Fault(hostile.Fault{Method: "POST", Path: op.route, Times: 1, Do: hostile.DropThenHandle(gate)})
			f.Fault(hostile.Fault{Method: "GET", Path: "/document/list", Nth: 2, Times: 1, Do: hostile.StallBefore(gate)})
			go func() { <-gate.Arrived(); gate.Open() }()
			err := op.do(m)
			gate.Open()
			if n := op.effects(f); n > 1 {
				t.Errorf("took effect %d times (%v)", n, err)
			}
		})
	}
}

// Keywords set on an inbox document are sent with it, once, even after an end in doubt.
func TestKeywordsTravelOnce(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt"), Keywords: []string{"da"}})
	m := f.mount(t, nil)
	in := m.path("inboxes", "Administrator", "scan.txt")
	sh(t, m, fmt.Sprintf(`python3 -c 'import os; os.setxattr("%s", "user.archive.keywords", b"rot,gr\\,\xc3\xbcn")'`, in))
	m.remount()
	f.Fault(hostile.Fault{Method: "POST", Path: "/document/{id}/archive", Times: 1, Do: hostile.DropAfter()})
	must(t, os.Rename(in, filepath.Join(m.path("Muster GmbH", "Briefe"), "scan.txt")))
	docs := f.Documents(f.letters)
	if len(docs) != 1 || fmt.Sprint(docs[0].Keywords) != "[da rot gr,ün]" {
		t.Errorf("archived %+v", docs)
	}
}
