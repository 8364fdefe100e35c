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

// refusals are files that the service has refused when the machine crashes.
func refusals() history.Focus {
	return history.Focus{Kinds: []history.Kind{history.Write, history.Write}, Service: history.Full, Session: refused()}
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

// many are as many files that a close has accepted as fill segments of the journal.
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
			Unneeded: "only the content cache publishes files so in a mount, which may lose everything",
		},
		{
			Name: "the old directory of a rename is not synced", File: "internal/durable/write.go",
			Old: "return SyncDir(oldDir)", New: "return nil", Focus: synced(),
			Unneeded: "only the content cache publishes files so in a mount, which may lose everything",
		},
		{
			Name: "directories are not synced", File: "internal/durable/write.go",
			Old: "err = d.Sync()", New: "err = nil", Focus: synced(),
		},
		{
			Name: "the names of new directories are not synced", File: "internal/durable/write.go",
			Old: "if err := SyncDir(above); err != nil &&", New: "if err := error(nil); err != nil &&", Focus: synced(),
		},
	}
}

// spooling takes the calls of internal/spool that sync.
func spooling() []Mutation {
	return []Mutation{
		{
			Name: "data is not synced", File: "internal/spool/content.go",
			Old: "err := c.open().Sync()", New: "err := error(nil)", Focus: synced(),
		},
		{
			Name: "the name of a data file is not synced", File: "internal/spool/content.go",
			Old: "err = durable.SyncDir(filepath.Dir(c.path))\n\t}\n\tif err != nil {\n\t\tc.lose()", New: "err = nil\n\t}\n\tif err != nil {\n\t\tc.lose()", Focus: synced(),
		},
		{
			Name: "data is not durable before its record", File: "internal/spool/upload.go",
			Old: "if err := u.content.sync(); err", New: "if err := error(nil); err", Focus: synced(),
		},
		{
			Name: "fsync does not sync", File: "internal/spool/upload.go",
			Old: "if err := u.storeLocked(&r, synced); err", New: "if err := u.storeLocked(&r, asBefore); err", Focus: synced(),
		},
		{
			Name: "a commit does not sync", File: "internal/spool/transition.go",
			Old: "if !u.volatileLocked(ev.to[from]) {\n\t\tas = synced", New: "if !u.volatileLocked(ev.to[from]) {\n\t\tas = unsynced",
			Focus: waiting(),
		},
		{
			Name: "a failed file's data is not synced", File: "internal/spool/transition.go",
			Old:      "if err := u.content.sync(); err != nil { // the record matters",
			New:      "if err := error(nil); err != nil { // the record matters",
			Focus:    history.Focus{Kinds: []history.Kind{history.Cut, history.Cut}, Session: crash()},
			Unneeded: "what makes the record durable does so with the data; it keeps an error of the data from preventing the record",
		},
		{
			Name: "a synced record is followed by one that is not", File: "internal/spool/upload.go",
			Old: "as == synced || u.durable && as == asBefore", New: "as == synced",
			Focus:    history.Focus{Kinds: []history.Kind{history.Two, history.Two}, Fsync: true, Session: killedAt(spool.PointUpdated, history.Crash)},
			Unneeded: "a record is an entry behind the one that was synced, so what a crash takes of it leaves that one",
		},
		{
			Name: "what may have been sent before a crash of the machine is not looked for", File: "internal/spool/deliver.go",
			Old: "as := synced\n\tif u.volatileLocked", New: "as := unsynced\n\tif u.volatileLocked", Async: true,
			Focus: unheard(),
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
			Name: "the journal is not synced", File: "internal/journal/log.go",
			Old: "errors.Join(nameless, durable.SyncData(s.File))", New: "errors.Join(nameless, func(*segment) error { return nil }(s))", Async: true, Focus: many(),
		},
		{
			Name: "the name of a new segment is not synced", File: "internal/journal/log.go",
			Old: "nameless = durable.SyncDir(l.o.Dir)", New: "nameless = nil", Async: true, Focus: queued(),
		},
		{
			Name: "what was removed comes back out of the journal", File: "internal/spool/recover.go",
			Old: "delete(l.uploads, id)", New: "_ = id", Async: true,
			Focus: history.Focus{Kinds: slices.Repeat([]history.Kind{history.Remove}, 16), Service: history.Full, Session: queued().Session},
		},
		{
			Name: "what a crash of the machine left volatile is trusted", File: "internal/spool/recover.go",
			Old: "!l.record.Current && !l.record.Durable", New: "!l.record.Current && l == nil",
			Focus: unheard(),
		},
		{
			Name: "a removal of what was accepted may be forgotten", File: "internal/spool/transition.go",
			Old: "lasts := u.durable || u", New: "lasts := u", Async: true,
			Focus: history.Focus{Kinds: slices.Repeat([]history.Kind{history.Remove}, 4), Service: history.Full, Session: queued().Session},
		},
		{
			Name: "a document is renamed before its upload is gone for good", File: "fs/internal/change/renames.go",
			Old: "return c.s.Spool.SyncRemovals()", New: "return nil", Async: true,
			Focus: history.Focus{Kinds: slices.Repeat([]history.Kind{history.Move}, 4), Service: history.Full, Session: crash()},
		},
		{
			Name: "a queued folder is not synced", File: "internal/spool/folder.go",
			Old: "s.create(r, synced)", New: "s.create(r, unsynced)", Async: true,
			Focus: folders(),
		},
		{
			Name: "what a close was told is queued is forgotten by a restart", File: "internal/spool/state.go",
			Old: "Queued:     {complete: true, queued: true, refused", New: "Queued:     {complete: true, refused", Async: true, Focus: queued(),
		},
		{
			Name: "what was cut off while the background sent it is not in doubt", File: "internal/spool/state.go",
			Old: "Delivering: {complete: true, queued: true, sent: true,", New: "Delivering: {complete: true, queued: true,", Async: true,
			Focus: history.Focus{Kinds: []history.Kind{history.Write, history.Write}, Service: history.Full, Session: killedAt(spool.PointAnswered, history.Kill)},
		},
		{
			Name: "records are not synced", File: "internal/spool/upload.go",
			Old: "if sync {\n\t\tu.content", New: "if sync && b == nil {\n\t\tu.content", Focus: refusals(),
		},
	}
}
