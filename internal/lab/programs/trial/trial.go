//go:build linux

// Package trial is what programs do in an archive that is mounted, and what a person means by it. A
// trial takes place in a folder and in an inbox, with and without a time of grace, and at several
// services; afterwards the service is asked what it has.
package trial

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/direct"
	"github.com/archivefs/archivefs/internal/lab/programs/site"
)

// Place is where a trial takes place.
type Place struct {
	site.Conditions
	Inbox bool
}

// String names the place in two or three words.
func (p Place) String() string {
	if p.Inbox {
		return "inbox"
	}
	return "folder"
}

// changeable says whether the content of a document that the archive has can be replaced there.
func (p Place) changeable() bool { return p.Inbox && p.Service != site.Eight }

// young says whether what was written a moment ago can be changed.
func (p Place) young() bool { return p.Grace > 0 || p.changeable() }

// graceless says whether it has none.
func (p Place) graceless() bool { return p.Grace == 0 }

// unnamed says whether what was just written cannot get another name there.
func (p Place) unnamed() bool { return p.Grace == 0 && p.Service == site.Eight }

// never says that something can succeed nowhere.
func never(Place) bool { return false }

// graced says whether the mount has a time of grace.
func (p Place) graced() bool { return p.Grace > 0 }

// writing says whether it is a place that is written to: the other one is read.
func (p Place) writing() bool { return p.Service != site.Bare }

// Tree is what a directory has: texts by path. The path of a folder that is empty ends in a slash.
type Tree map[string]string

// made stands for the text that the script left in the directory meant of its own.
const made = "\x00made"

// Trial is what one program does.
type Trial struct {
	Program, Does string
	// Source is where it was seen, if the program is imitated, or who reported it.
	Source string
	// Report says that it is a public report which was tried.
	Report bool
	// On says where it takes place; nil for wherever something is written.
	On func(Place) bool
	// Before are the documents that the archive has.
	Before Tree
	// Script is what is done: in bash, with the functions of prelude.sh.
	Script string
	// Allowed says where it can succeed; nil for everywhere.
	Allowed func(Place) bool
	// After is what the archive is meant to have, and Otherwise where it cannot succeed; nil for Before.
	After, Otherwise Tree
	// Passing are further names that documents may have had on the way, because a person gave them.
	Passing []string
	// Fails says that an upload may be left that failed.
	Fails bool
	// Limit says why what is meant cannot be reached at some places: where LimitAt says so, nil for
	// everywhere, faults are limits.
	Limit   string
	LimitAt func(Place) bool
}

func (t *Trial) on(p Place) bool {
	if t.On == nil {
		return p.writing()
	}
	return t.On(p)
}

func (t *Trial) allowed(p Place) bool { return t.Allowed == nil || t.Allowed(p) }

// meant is what the archive is meant to have.
func (t *Trial) meant(p Place) Tree {
	switch {
	case t.allowed(p) && t.After != nil:
		return t.After
	case !t.allowed(p) && t.Otherwise != nil:
		return t.Otherwise
	}
	return t.Before
}

// Outcome is how a trial ended at a place.
type Outcome struct {
	*Trial
	Place  Place
	Output string   // of the script
	Has    []string // what the service has: paths with sizes
	Here   []string // what is left on the machine
	Faults []string // what is not as meant
	Limits []string // the same, where it cannot be otherwise

	where string
	ids   map[string]int64 // of Before
}

// Meant are the paths that the archive is meant to have.
func (o *Outcome) Meant() []string { return slices.Sorted(maps.Keys(o.meant(o.Place))) }

// Refused says that the program is meant to be told that it cannot be done.
func (o *Outcome) Refused() bool { return !o.allowed(o.Place) }

// Late says that what is refused can be refused when it is sent: the program was told that it is safe here.
func (o *Outcome) Late() bool { return o.failsToReplace() && o.Place.graced() }

// prepare makes the directory of a trial, with its documents.
func (o *Outcome) prepare(ctx context.Context, a *direct.Archive) error {
	if err := a.Make(ctx, o.where); err != nil {
		return err
	}
	made := map[string]bool{".": true}
	for name, text := range o.Before {
		if err := makeAll(ctx, a, o.where, path.Dir(name), made); err != nil {
			return err
		}
		if err := a.Add(ctx, path.Join(o.where, name), []byte(text)); err != nil {
			return err
		}
	}
	all, err := a.Below(ctx, o.where)
	o.ids = map[string]int64{}
	for _, e := range all {
		if !e.Folder {
			o.ids[e.Path] = e.ID
		}
	}
	return err
}

func makeAll(ctx context.Context, a *direct.Archive, where, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if err := makeAll(ctx, a, where, path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return a.Make(ctx, path.Join(where, dir))
}

// run does the trial.
func (o *Outcome) run(ctx context.Context, s *site.Site) {
	outcome := "OUTCOME=refused"
	if o.allowed(o.Place) {
		outcome = "OUTCOME=done"
	}
	late := ""
	if o.Late() {
		late = "yes"
	}
	out, err := s.Run(ctx, o.where, o.Script, outcome, "LATE="+late, "PLACE="+o.Place.String())
	o.Output = out
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		o.fault("%s: %s", failed, lastLine(out))
	case err != nil:
		o.fault("%v", err)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func (o *Outcome) fault(format string, args ...any) {
	o.Faults = append(o.Faults, fmt.Sprintf(format, args...))
}

// judge compares what the service has with what was meant.
func (o *Outcome) judge(ctx context.Context, a *site.Site, remains []site.Upload, receipts []string) error {
	all, err := a.Below(ctx, o.where)
	if err != nil {
		return err
	}
	want := o.meant(o.Place)
	folders := foldersOf(want)
	count := map[string]int{}
	for _, e := range all {
		count[e.Path]++
		if e.Folder {
			o.Has = append(o.Has, e.Path+"/")
			if !folders[e.Path] {
				o.fault("the service has the folder %s", e.Path)
			}
			continue
		}
		if err := o.judgeDocument(ctx, a, e, want); err != nil {
			return err
		}
	}
	for name := range want {
		if clean := strings.TrimSuffix(name, "/"); count[clean] == 0 {
			o.fault("the service lacks %s", name)
		}
	}
	for name, n := range count {
		if n > 1 {
			o.fault("the service has %s %d times", name, n)
		}
	}
	o.judgeTraces(remains, receipts)
	slices.Sort(o.Has)
	slices.Sort(o.Faults)
	if o.Limit != "" && (o.LimitAt == nil || o.LimitAt(o.Place)) {
		o.Faults, o.Limits = nil, o.Faults
	}
	return nil
}

// judgeDocument looks at one document: its content, its id and its history.
func (o *Outcome) judgeDocument(ctx context.Context, a *site.Site, e direct.Entry, want Tree) error {
	content, err := a.Content(ctx, e.ID)
	if err != nil {
		return err
	}
	o.Has = append(o.Has, fmt.Sprintf("%s %d B", e.Path, len(content)))
	text, meant := want[e.Path]
	if text == made {
		if text, err = a.Meant(o.where, e.Path); err != nil {
			return err
		}
	}
	switch {
	case !meant:
		o.fault("the service has %s, %d bytes", e.Path, len(content))
	case sha256.Sum256(content) != sha256.Sum256([]byte(text)):
		o.fault("%s has %d bytes, and not the %d that were meant", e.Path, len(content), len(text))
	}
	if id, was := o.ids[e.Path]; was && id != e.ID {
		o.fault("%s is another document than before", e.Path)
	}
	history, err := a.History(ctx, e.ID)
	for _, c := range history {
		if c.Action == "name" && !o.known(c.Old) {
			o.fault("the history of %s says that it was called %s", e.Path, c.Old)
		}
	}
	return err
}

// known says whether a person gave a document that name.
func (o *Outcome) known(name string) bool {
	if slices.Contains(o.Passing, name) {
		return true
	}
	for _, t := range []Tree{o.Before, o.meant(o.Place)} {
		for full := range t {
			if path.Base(full) == name {
				return true
			}
		}
	}
	return false
}

// judgeTraces looks at what is left on the machine and at what was sent.
func (o *Outcome) judgeTraces(remains []site.Upload, receipts []string) {
	for _, u := range remains {
		name, mine := strings.CutPrefix(u.Path, o.where+"/")
		if !mine {
			continue
		}
		here := u.State + " " + name
		if u.State == "failed" {
			here += " (" + u.Error + ")"
		}
		o.Here = append(o.Here, here)
		if u.State == "failed" && !o.Fails && !o.failsToReplace() {
			o.fault("here as failed: %s (%s)", name, u.Error)
		}
	}
	seen := map[string]bool{}
	for _, r := range receipts {
		name, mine := strings.CutPrefix(r, o.where+"/")
		if mine && !o.known(path.Base(name)) && !seen[name] {
			seen[name] = true
			o.fault("a receipt says that it was archived as %s", name)
		}
	}
}

// failsToReplace says that the service refuses what a close tells: that a document is replaced. The close
// says so, and the bytes are kept.
func (o *Outcome) failsToReplace() bool {
	return o.Refused() && o.Place.Inbox && o.Place.Service == site.Eight
}

// foldersOf are the folders of a tree.
func foldersOf(t Tree) map[string]bool {
	all := map[string]bool{}
	for name := range t {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			all[dir] = true
		}
	}
	return all
}
