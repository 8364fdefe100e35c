package audit

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
)

// judge is an outcome under judgement.
type judge struct {
	*Outcome
	archived   map[Sum][]Document
	files      map[Sum]*File
	violations []Violation
}

// Judge returns the rules that a run broke.
func Judge(o *Outcome) []Violation {
	j := &judge{Outcome: o, archived: map[Sum][]Document{}, files: map[Sum]*File{}}
	for _, d := range o.Archive {
		j.archived[d.Sum] = append(j.archived[d.Sum], d)
	}
	for i := range o.Files {
		j.files[o.Files[i].sum()] = &o.Files[i]
	}
	j.checkDocuments()
	j.checkRetried()
	for i := range o.Files {
		j.checkFile(&o.Files[i])
	}
	j.checkFolders()
	j.checkReads()
	j.checkKept()
	return j.violations
}

func (f *File) sum() Sum { return sha256.Sum256(f.Content) }

func (j *judge) violate(kind Kind, format string, args ...any) {
	j.violations = append(j.violations, Violation{kind, fmt.Sprintf(format, args...)})
}

// checkDocuments looks for documents that nobody put in as they are, and for doubles.
func (j *judge) checkDocuments() {
	for _, d := range j.Archive {
		f := j.files[d.Sum]
		switch {
		case f == nil:
			j.violate(Wrong, "%s/%s holds bytes that are no whole file", d.Folder, d.Name)
		case !f.Old && !f.Closing:
			j.violate(Wrong, "%s/%s is archived although its program never closed it", d.Folder, d.Name)
		case f.Stays:
			j.violate(Wrong, "%s/%s is archived although it must stay", d.Folder, d.Name)
		case f.Keyword != "" && !slices.Contains(d.Keywords, f.Keyword):
			j.violate(Missing, "%s/%s is archived without its keyword %s", d.Folder, d.Name, f.Keyword)
		}
	}
	for sum, found := range j.archived {
		if len(found) > 1 {
			j.violate(Doubled, "%s is in the archive %d times, as %v", j.name(sum), len(found), places(found))
		}
	}
}

// checkRetried looks for what a person made worse who had all that failed sent again.
func (j *judge) checkRetried() {
	retried := map[Sum][]Document{}
	for _, d := range j.Retried {
		retried[d.Sum] = append(retried[d.Sum], d)
	}
	for sum, found := range retried {
		before := len(j.archived[sum])
		switch f := j.files[sum]; {
		case before == 0 && (f == nil || !f.Closing):
			j.violate(Wrong, "%s was sent again and is no whole file", j.name(sum))
		case before < 2 && len(found) > 1:
			j.violate(Doubled, "%s is in the archive %d times after it was sent again, as %v", j.name(sum), len(found), places(found))
		}
	}
}

func (j *judge) name(sum Sum) string {
	if f := j.files[sum]; f != nil {
		return f.What
	}
	return fmt.Sprintf("content %x", sum[:4])
}

func places(docs []Document) []string {
	var all []string
	for _, d := range docs {
		all = append(all, d.Folder+"/"+d.Name)
	}
	slices.Sort(all)
	return all
}

// checkFile looks for what became of a content.
func (j *judge) checkFile(f *File) {
	found := j.archived[f.sum()]
	if f.Old {
		j.checkVersions(f)
	} else {
		j.checkAccepted(f, len(found) > 0)
	}
	if len(found) > 0 && f.Places == nil && f.Absent && f.Removed > 0 {
		j.violate(Wrong, "%s was removed, and is archived as %v", f.What, places(found))
	}
	failed := !j.told(f) && j.hasFailed(f, Range{0, len(f.Content)}) // nobody was told that it is archived
	if old := j.files[f.Replaces]; f.Took && !failed && len(found) > 0 && len(j.archived[f.Replaces]) > 0 && len(old.Places) < 2 && !old.MayStay {
		j.violate(Doubled, "%s took the place of %s, and the archive has both", f.What, old.What)
	}
	certain := j.told(f) || f.Old || len(found) > 0 && !failed
	if f.Told == OK && !f.Stays && f.Removed == 0 && (!f.Absent || len(found) > 0) && (!f.MayStay || len(found) != 0) && certain && !j.isThere(f, found) {
		j.violate(Missing, "%s was answered 0 and is not in the archive as %s/%s, but as %v", f.What, f.Folder, f.Name, places(found))
	}
	for _, p := range j.Passed {
		switch {
		case p.Sum != f.sum():
		case f.Told == Failed && p.Time > f.Time && (f.Retried == 0 || p.Time < f.Retried):
			j.violate(Late, "%s was answered an error and sent after that", f.What)
		case f.Removed > 0 && p.Time > f.Removed:
			j.violate(Wrong, "%s was removed and sent after that", f.What)
		case f.Over > 0 && p.Time > f.Over:
			j.violate(Wrong, "%s was written over and sent after that", f.What)
		case f.Rests && f.Retried == 0 && (f.Until == 0 || p.Time < f.Until):
			j.violate(Early, "%s was sent", f.What)
		}
	}
}

// isThere reports whether a content that was accepted is where it was meant to be, or was
// replaced there.
func (j *judge) isThere(f *File, found []Document) bool {
	return j.replaced(f) || slices.ContainsFunc(found, func(d Document) bool {
		if len(f.Places) > 0 {
			return slices.ContainsFunc(f.Places, func(p Place) bool { return p.Folder == "" || p == Place{d.Folder, d.Name} })
		}
		return f.Folder == "" || d.Folder == f.Folder && d.Name == f.Name
	})
}

// told reports whether what was accepted was told to be archived, and not to wait for it.
func (j *judge) told(f *File) bool { return j.Sync && !f.Waits }

// replaced reports whether another content may have taken the place of f.
func (j *judge) replaced(f *File) bool {
	sum := f.sum()
	return slices.ContainsFunc(j.Files, func(r File) bool { return r.Replacement && r.Replaces == sum && r.Closing })
}

// overwritten reports whether a program may have truncated f before the archive had it, as it
// would a file on a disk.
func (j *judge) overwritten(f *File) bool {
	sum := f.sum()
	return !f.Old && slices.ContainsFunc(j.Files, func(r File) bool { return r.Replacement && r.Replaces == sum && r.Opening })
}

// checkAccepted looks for bytes that must not be lost.
func (j *judge) checkAccepted(f *File, archived bool) {
	if archived || f.Absent || f.Leaving || f.Removed > 0 || j.replaced(f) || j.overwritten(f) {
		return
	}
	whole := Range{0, len(f.Content)}
	switch {
	case f.Told == OK && (f.Stays || f.MayStay):
		if !j.isKept(f, whole) {
			j.violate(Lost, "%s was accepted and is not kept", f.What)
		}
		return
	case f.Told == OK && !j.told(f): // in sync mode it is rule 4
		if !j.hasFailed(f, whole) {
			j.violate(Lost, "%s was accepted and is neither archived nor kept as failed", f.What)
		}
		return
	case f.Told == Failed && f.Refused && !j.DiskFailed:
		if !j.isKept(f, whole) {
			j.violate(Lost, "%s was refused and is not kept", f.What)
		}
		return
	}
	for _, r := range f.Accepted {
		if !j.isKept(f, r) {
			j.violate(Lost, "bytes %d to %d of %s were accepted and are neither archived nor kept", r.Begin, r.End, f.What)
		}
	}
}

// isKept reports whether a part of a content is kept: in a failed upload, or in a local
// file.
func (j *judge) isKept(f *File, r Range) bool {
	return j.hasFailed(f, r) || slices.ContainsFunc(j.Local, func(l Local) bool { return holds(l.Content, f.Content, r) })
}

// hasFailed reports whether a part of a content is kept in a failed upload.
func (j *judge) hasFailed(f *File, r Range) bool {
	return slices.ContainsFunc(j.Kept, func(k Kept) bool {
		return k.State == "failed" && k.Reason != "" && holds(k.Content, f.Content, r)
	})
}

// holds reports whether a part of content stands in kept at its place.
func holds(kept, content []byte, r Range) bool {
	return len(kept) >= r.End && bytes.Equal(kept[r.Begin:r.End], content[r.Begin:r.End])
}

func (j *judge) checkFolders() {
	count := map[string]int{}
	for _, path := range j.Made {
		count[path]++
	}
	expected := map[string]int{} // by how many folders may be there
	for _, path := range j.Others {
		expected[path]++
	}
	for _, f := range j.Folders {
		for _, path := range f.Paths {
			expected[path]++
		}
	}
	for _, f := range j.Folders {
		there := 0
		for _, path := range f.Paths {
			if expected[path] == 1 {
				there += count[path]
			}
		}
		for _, path := range f.Paths { // which another one may have, too
			if expected[path] > 1 && there == 0 {
				there += count[path]
			}
		}
		switch {
		case there > 1:
			j.violate(Doubled, "%s was made %d times, as %v", f.What, there, f.Paths)
		case f.Told == OK && there == 0 && !f.Absent && (j.Sync && !f.Waits || !slices.ContainsFunc(f.Paths, j.isKeptFolder)):
			j.violate(Missing, "%s was answered 0, and none of %v is there", f.What, f.Paths)
		}
	}
	for path := range count {
		if expected[path] == 0 {
			j.violate(Left, "the archive has %s, which was renamed or removed, or never made", path)
		}
	}
}

// isKeptFolder reports whether a folder that could not be made is kept, with the reason.
func (j *judge) isKeptFolder(path string) bool {
	return slices.ContainsFunc(j.Kept, func(k Kept) bool {
		return k.Directory && k.State == "failed" && k.Reason != "" && k.Name == path
	})
}

func (j *judge) checkReads() {
	for _, r := range j.Reads {
		if !slices.Contains(r.Want, r.Got) {
			j.violate(Wrong, "%s read bytes that are not those of the archive", r.What)
		}
	}
}

// checkKept looks for uploads that wait for ever.
func (j *judge) checkKept() {
	for _, k := range j.Kept {
		if k.State != "failed" {
			j.violate(Lost, "%s (%s) is still %s: %s", k.Name, k.ID, k.State, k.Reason)
		}
	}
	if !j.DiskFailed {
		j.checkBroken()
		j.checkNeedless()
	}
}

// checkBroken looks for uploads that nobody can use, and nothing explains.
func (j *judge) checkBroken() {
	cutOff, broken := 0, 0
	for _, f := range j.Files {
		unanswered := f.Told == Nothing || f.Told == Failed && !f.Refused // which is no close that keeps it
		if unanswered && len(f.Accepted) == 0 && !f.Old {
			cutOff++
		}
		if f.Replacement && f.MayStay { // its rename over a document was not answered, for which the bytes are written once more
			cutOff++
		}
	}
	for _, k := range j.Kept {
		if k.Broken {
			broken++
		}
	}
	if broken > cutOff {
		j.violate(Unexplained, "%d uploads have lost their record or their bytes, and %d files may have been cut off", broken, cutOff)
	}
}

// checkNeedless looks for uploads that failed although they did not.
func (j *judge) checkNeedless() {
	for _, k := range j.Kept {
		sum := Sum(sha256.Sum256(k.Content))
		f := j.files[sum]
		if f != nil && f.Removed > 0 {
			j.violate(Unexplained, "%s was removed, and is kept as %s: %s", f.What, k.State, k.Reason)
		}
		if f != nil && j.told(f) && f.Told == OK && !f.Old && len(j.archived[sum]) > 0 {
			j.violate(Unexplained, "%s was answered 0, is archived, and is kept as %s: %s", f.What, k.State, k.Reason)
		}
	}
}
