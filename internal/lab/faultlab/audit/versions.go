package audit

// checkVersions looks for what became of an inbox document that may have been replaced: the
// archive has one of its contents, and none that is older than one that was accepted.
func (j *judge) checkVersions(old *File) {
	versions := j.versions(old)
	has := -1
	for i, f := range versions {
		if len(j.archived[f.sum()]) > 0 {
			has = i
		}
	}
	if has < 0 {
		j.violate(Lost, "%s, an inbox document, is gone, with all that replaced it", old.What)
		return
	}
	for i := len(versions) - 1; i > has; i-- {
		f := versions[i]
		last := i == len(versions)-1 // of which the other rules know what to say
		if f.Told == OK && !last && !j.mayBeOlder(f) {
			j.violate(Missing, "%s was answered 0, and the archive has the older %s", f.What, versions[has].What)
			return
		}
	}
}

// versions are the contents of an inbox document, oldest first: each replaced the one before, or
// may have.
func (j *judge) versions(old *File) []*File {
	all := []*File{old}
	for i := range j.Files {
		if r := &j.Files[i]; r.Replacement && r.Closing && r.Replaces == all[len(all)-1].sum() {
			all = append(all, r)
		}
	}
	return all
}

// mayBeOlder reports whether the archive may have an older content than f, which was accepted:
// in async mode, while f is kept, or was truncated before it was sent; always, where f may be elsewhere.
func (j *judge) mayBeOlder(f *File) bool {
	return f.MayStay || len(f.Places) > 1 || !j.told(f) && (j.overwritten(f) || j.hasFailed(f, Range{0, len(f.Content)}))
}
