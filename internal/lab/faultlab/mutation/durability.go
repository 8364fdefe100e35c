package mutation

import (
	"slices"
	"time"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/proxy"
	"github.com/archivefs/archivefs/internal/spool"
)

// synced are files that programs have synced when the machine crashes.
func synced() history.Focus {
	return history.Focus{Kinds: []history.Kind{history.Hanging, history.Hanging}, Fsync: true, Session: crash()}
}

// local are files under temporary names, closed when the machine crashes.
func local() history.Focus {
	return history.Focus{Kinds: []history.Kind{history.Keep, history.Keep}, Session: crash()}
}

// refusals are files that the service has refused when the machine crashes.
func refusals() history.Focus {
	return history.Focus{Kinds: []history.Kind{history.Write, history.Write}, Service: history.Full, Session: refused()}
}

// archived are files that are archived, and gone from the spool, when the machine crashes.
func archived() history.Focus {
	return history.Focus{Kinds: slices.Repeat([]history.Kind{history.Write}, 8), Service: history.Full, Session: crash()}
}

// unheard are small files that the service has archived without an answer when the machine crashes.
// A crash may leave their bytes whole, and of their records only the first.
func unheard() history.Focus {
	s := crash()
	s.Moment = 400 * time.Millisecond
	s.Net = []proxy.Fault{{Op: proxy.Upload, Nth: 1, Times: always, Deed: proxy.HangAfter, For: time.Second}}
	return history.Focus{Kinds: slices.Repeat([]history.Kind{history.Write}, 8), Size: 2, Service: history.Full, Session: s}
}

// queued are files that a close has accepted when the machine crashes, and the service has
// not got.
func queued() history.Focus {
	s := crash()
	s.Net = []proxy.Fault{{Op: proxy.Upload, Nth: 1, Times: always, Deed: proxy.ResetBefore}}
	return history.Focus{Kinds: []history.Kind{history.Write, history.Write}, Service: history.Full, Session: s}
}

// waiting are files in their time of grace when the machine crashes: no attempt to send them has synced them.
func waiting() history.Focus {
	f := resting(history.Write)
	f.Session.End = history.Crash
	return f
}

// folders are folders that are queued, because the service is away, when the machine crashes.
func folders() history.Focus {
	return history.Focus{Kinds: slices.Repeat([]history.Kind{history.Mkdir}, 3), Service: history.Full, Session: unreachable()}
}

// many are as many files that a close has accepted as make the redo log be used.
func many() history.Focus {
	f := queued()
	f.Kinds = slices.Repeat([]history.Kind{history.Write}, 24)
	return f
}

// lostAnswers are files in doubt when the machine crashes.
func lostAnswers() history.Focus {
	s := killedAt(spool.PointFail, history.Crash)
	s.Net = []proxy.Fault{{Op: proxy.Any, Nth: 1, Times: always, Deed: proxy.ResetBefore}}
	return history.Focus{Kinds: []history.Kind{history.Write}, Service: history.Full, Session: s}
}

// durability takes the calls of internal/durable that sync.
func durability() []Mutation {
	return []Mutation{
		{
			Name: "a published file is not synced", File: "internal/durable/write.go",
			Old: "if err := f.Sync(); err != nil {", New: "if err := error(nil); err != nil {", Focus: refusals(),
		},
		{
			Name: "the directory of a rename is not synced", File: "internal/durable/write.go",
			Old: "if err := SyncDir(newDir); err != nil {", New: "if err := error(nil); err != nil {", Focus: folders(), Async: true,
		},
		{
			Name: "the old directory of a rename is not synced", File: "internal/durable/write.go",
			Old: "return SyncDir(oldDir)", New: "return nil", Focus: synced(),
			Unneeded: "the spool renames within one directory; between two only the content cache does, which may lose everything",
		},
		{
			Name: "directories are not synced", File: "internal/durable/dir.go",
			Old: "err = d.Sync()", New: "err = nil", Focus: synced(),
		},
		{
			Name: "the names of new directories are not synced", File: "internal/durable/dir.go",
			Old: "if err := SyncDir(above); err != nil &&", New: "if err := error(nil); err != nil &&", Focus: synced(),
		},
	}
}

// spooling takes the calls of internal/spool that sync.
func spooling() []Mutation {
	return []Mutation{
		{
			Name: "data is not synced", File: "internal/spool/content.go",
			Old: "if err := f.Sync(); err != nil {", New: "if err := error(nil); f == nil {", Focus: synced(),
		},
		{
			Name: "data is not durable in place before its record", File: "internal/spool/journal.go",
			Old: "if err := data.sync(); err != nil {", New: "if err := error(nil); err != nil {", Focus: synced(),
		},
		{
			Name: "fsync does not sync", File: "internal/spool/upload.go",
			Old: "if err := u.storeLocked(&r, synced); err", New: "if err := u.storeLocked(&r, asBefore); err", Focus: synced(),
		},
		{
			Name: "a commit does not sync", File: "internal/spool/transition.go",
			Old: "if !u.journal.volatile(next) {\n\t\tas = synced", New: "if !u.journal.volatile(next) {\n\t\tas = unsynced",
			Focus: waiting(),
		},
		{
			Name: "a local file's data is not synced", File: "internal/spool/transition.go",
			Old:      "if err := u.content.sync(); err != nil { // the record has",
			New:      "if err := error(nil); err != nil { // the record has",
			Focus:    local(),
			Unneeded: "what makes the record durable does so with the data; it keeps a record that a crash left from naming a torn file",
		},
		{
			Name: "a failed file's data is not synced", File: "internal/spool/transition.go",
			Old:      "if err := u.content.sync(); err != nil { // the record matters",
			New:      "if err := error(nil); err != nil { // the record matters",
			Focus:    history.Focus{Kinds: []history.Kind{history.Cut, history.Cut}, Session: crash()},
			Unneeded: "what makes the record durable does so with the data; it keeps an error of the data from preventing the record",
		},
		{
			Name: "a synced record is followed by one that is not", File: "internal/spool/journal.go",
			Old: "|| j.durable && as == asBefore", New: "",
			Focus:    history.Focus{Kinds: []history.Kind{history.Two, history.Two}, Fsync: true, Session: killedAt(spool.PointUpdated, history.Crash)},
			Unneeded: "a record is a line behind the one that was synced, so what a crash takes of it leaves that one",
		},
		{
			Name: "the name of an upload's directory is not synced", File: "internal/spool/journal.go",
			Old: "return durable.SyncDir(filepath.Dir(j.dir))", New: "return nil", Focus: synced(),
		},
		{
			Name: "the names in an upload's directory are not synced", File: "internal/spool/journal.go",
			Old: "return durable.SyncDir(j.dir)", New: "return error(nil)", Focus: synced(),
		},
		{
			Name: "a volatile upload that is refused is not synced", File: "internal/spool/deliver.go",
			Old: "d.syncLocked()\n\tu.outcome", New: "u.outcome", Focus: refusals(),
			Unneeded: "what makes the record durable does so with the data; it keeps an error of the data from preventing the record",
		},
		{
			Name: "a volatile upload whose end is in doubt is not synced", File: "internal/spool/deliver.go",
			Old: "d.syncLocked()\n\tif", New: "if", Focus: lostAnswers(),
			Unneeded: "nobody is told anything before the end is known; it saves the bytes of a program that waits long",
		},
		{
			Name: "a volatile upload that stays after it is archived is not synced", File: "internal/spool/deliver.go",
			Old: "as = synced\n\t\td.syncLocked()", New: "as = synced", Focus: synced(),
			Unneeded: "the archive has the bytes, and the record that follows is synced by itself",
		},
		{
			Name: "the redo log is not synced", File: "internal/redolog/log.go",
			Old: "l.mu.Unlock()\n\t\terr := durable.SyncData(f.File)", New: "l.mu.Unlock()\n\t\terr := error(nil)", Async: true, Focus: many(),
		},
		{
			Name: "the redo log is not replayed", File: "internal/redolog/log.go",
			Old: "if replay {", New: "if replay && len(keys) < 0 {", Async: true, Focus: many(),
		},
		{
			Name: "the bytes are not in the redo log", File: "internal/spool/journal.go",
			Old: "e.Body = io.NewSectionReader(data, 0, data.size.Load())", New: "_ = io.EOF", Async: true, Focus: many(),
		},
		{
			Name: "what a full redo log says is not durable in place", File: "internal/spool/redo.go",
			Old: "return f.Sync()", New: "return nil", Async: true, Focus: many(),
		},
		{
			Name: "what was removed comes back out of the redo log", File: "internal/spool/redo.go",
			Old: "if l.kind == isGone {\n\t\t\tcontinue", New: "if l.kind == 0 {\n\t\t\tcontinue", Async: true,
			Focus: history.Focus{Kinds: slices.Repeat([]history.Kind{history.Remove}, 16), Service: history.Full, Session: queued().Session},
		},
		{
			Name: "what a crash of the machine left volatile is trusted", File: "internal/spool/recover.go",
			Old: "if r.Boot != \"\" && r.Boot != s.opts.Boot {", New: "if r.Boot == \"never\" {",
			Focus: unheard(),
		},
		{
			Name: "what may have been sent before a crash of the machine is not looked for", File: "internal/spool/recover.go",
			Old: "if r.Announced != s.opts.Boot {", New: "if r.Announced == \"never\" {", Async: true,
			Focus: unheard(),
		},
		{
			Name: "a removed upload may come back in half", File: "internal/spool/create.go",
			Old: "return durable.SyncDir(s.dir)", New: "return nil",
			Focus: archived(),
		},
		{
			Name: "a removal of what was accepted may be forgotten", File: "internal/spool/transition.go",
			Old: "lasts := u.journal.durable || u", New: "lasts := u", Async: true,
			Focus: history.Focus{Kinds: slices.Repeat([]history.Kind{history.Remove}, 4), Service: history.Full, Session: queued().Session},
		},
		{
			Name: "a document is renamed before its upload is gone for good", File: "fs/internal/change/renames.go",
			Old: "return c.s.Spool.SyncRemovals()", New: "return nil", Async: true,
			Focus: history.Focus{Kinds: slices.Repeat([]history.Kind{history.Move}, 4), Service: history.Full, Session: crash()},
		},
		{
			Name: "a queued folder's directory is not synced", File: "internal/spool/folder.go",
			Old: "if err := durable.SyncDir(s.dir); err != nil {", New: "if err := error(nil); err != nil {",
			Import: "\n\t\"github.com/archivefs/archivefs/internal/durable\"", Async: true,
			Focus: folders(),
		},
		{
			Name: "the receipt log's name is not synced", File: "internal/spool/receipt.go",
			Old: "if err := durable.SyncDir(filepath.Dir(path)); err != nil {", New: "if err := error(nil); filepath.Dir(path) == \"\" {",
			Focus:    history.Focus{Kinds: []history.Kind{history.Write, history.Write}, Service: history.Full, Session: crash()},
			Unneeded: "the receipt log is for people to read; what becomes of an upload does not depend on it",
		},
		{
			Name: "receipts are not synced", File: "internal/spool/receipt.go",
			Old: "return durable.SyncData(l.file)", New: "return nil",
			Focus:    history.Focus{Kinds: []history.Kind{history.Write, history.Write}, Service: history.Full, Session: crash()},
			Unneeded: "the receipt log is for people to read; what becomes of an upload does not depend on it",
		},
		{
			Name: "records are not synced", File: "internal/spool/journal.go",
			Old: "if sync {", New: "if sync && b == nil {", Focus: refusals(),
		},
	}
}
