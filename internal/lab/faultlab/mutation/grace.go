package mutation

import (
	"slices"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
)

// resting are programs at work in a time of grace that only the end of the mount ends.
func resting(kinds ...history.Kind) history.Focus {
	return history.Focus{
		Kinds: slices.Repeat(kinds, 4), Service: history.Full, Session: history.Session{End: history.Clean, Grace: history.LongGrace},
	}
}

// grace are the rules of the time of grace and of working names.
func grace() []Mutation {
	folders := resting(history.Mkdir)
	folders.Session.End = history.Crash
	return []Mutation{
		{
			Name: "a file is sent before its time of grace is over", File: "fs/internal/staging/queue.go",
			Old: "if Rests(&r) && !s.ending", New: "if Rests(&r) && r.Size < 0 && !s.ending", Focus: resting(history.Work),
		},
		{
			Name: "the new name of a folder that rests is not written down", File: "fs/internal/change/folders.go",
			Old: "err = up.Update(func(r *spool.Record) { retarget(r, c.s.Record(to, newName, nil)) })", New: "err = error(nil)",
			Focus: resting(history.Work),
		},
		{
			Name: "what lies in a directory does not go along", File: "fs/internal/change/folders.go",
			Old: "\t\tc.moveAlong(ctx, dir, in)\n", New: "\t\t_ = in\n", Focus: resting(history.Work),
		},
		{
			Name: "a folder that becomes a working directory is made", File: "fs/internal/staging/folders.go",
			Old: "if err := before.Remove(); err != nil {", New: "if err := error(nil); err != nil {", Focus: resting(history.Work),
		},
		{
			Name: "a folder that was removed is made", File: "fs/internal/staging/folders.go",
			Old: "if err := up.Remove(); err != nil {\n\t\treturn err\n\t}\n\td.Drop(e)", New: "d.Drop(e)", Focus: resting(history.Work),
		},
		{
			Name: "a folder's record is not synced in its time of grace", File: "internal/spool/folder.go",
			Old: "s.create(r, synced)", New: "s.create(r, unsynced)", Focus: folders,
		},
		{
			Name: "a file that rested is not checked for its end", File: "fs/internal/staging/delivery.go",
			Old: "err := cmp.Or(r.Lacks(), whole.Check(up))\n", New: "err := r.Lacks()\n", Focus: resting(history.Cut),
		},
		{
			Name: "what gets a working name stays in the queue", File: "fs/internal/change/renames.go",
			Old: "case local && up.State() == spool.Recalled:", New: "case local && up.State() == spool.Recalled && up.Size() < 0:", Focus: resting(history.Work),
		},
		{
			Name: "a rename over an inbox document makes another one", File: "fs/internal/change/renames.go",
			Old: "case doc != nil:\n\t\treturn doc, nil", New: "case doc != nil:\n\t\treturn nil, nil", Focus: resting(history.Over),
		},
	}
}
