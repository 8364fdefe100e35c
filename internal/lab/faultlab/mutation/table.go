package mutation

import (
	"slices"
	"syscall"

	"github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/proxy"
	"github.com/archivefs/archivefs/internal/spool"
)

// All returns all mutations: the rules by which an upload is sent or not, and each call
// that makes something survive a crash of the machine.
func All() []Mutation { return slices.Concat(rules(), grace(), durability(), spooling()) }

// always is how often a fault strikes that strikes every time.
const always = 1 << 20

// crash is a session that ends with a crash of the machine after its steps.
func crash() history.Session { return history.Session{End: history.Crash} }

// refused is one in which the service refuses every upload.
func refused() history.Session {
	s := crash()
	s.Net = []proxy.Fault{{Op: proxy.Upload, Nth: 1, Times: always, Deed: proxy.AnswerBefore, Status: 400}}
	return s
}

// unreachable is one without the service, once it is mounted.
func unreachable() history.Session {
	s := crash()
	s.Net = []proxy.Fault{{Op: proxy.Folder, Nth: 1, Times: always, Deed: proxy.ResetBefore}}
	return s
}

// unanswered is one in which the answer of the first upload is lost.
func unanswered() history.Session {
	return history.Session{
		End: history.Clean, Net: []proxy.Fault{{Op: proxy.Upload, Nth: 1, Times: 1, Deed: proxy.ResetAfter}},
	}
}

// killedAt is one in which the program is killed at a point, and the machine with it when end
// is a crash.
func killedAt(p spool.Point, end history.End) history.Session {
	return history.Session{End: end, Point: history.Strike{Point: p, Nth: 1, Deed: history.KillThere}}
}

// rules are the rules that decide whether something is sent.
func rules() []Mutation {
	return []Mutation{
		{
			Name: "no look before a repeat", File: "internal/spool/deliver.go",
			Old: "v := d.findOut(ctx, cause)\n", New: "d.patience.start()\n\t\t\tv := verdict{}\n",
			Focus: history.Focus{Service: history.Full, Kinds: []history.Kind{history.Write}, Session: unanswered()},
		},
		{
			Name: "one look is enough", File: "internal/spool/look.go",
			Old: "absent++\n", New: "absent++\n\t\t\treturn v\n",
			Focus: history.Focus{Service: history.Late, Kinds: []history.Kind{history.Write}, Session: unanswered()},
		},
		{
			Name: "what a killed program wrote is a file", File: "internal/closing/examine_linux.go",
			Old: "flags&pfExiting != 0 && flags&pfSignaled != 0 {", New: "flags&pfExiting != 0 && flags&pfSignaled == pfSignaled+1 {",
			Focus: history.Focus{Kinds: []history.Kind{history.Killed}, Session: history.Session{End: history.Clean}},
		},
		{
			Name: "a close ends before its bytes are accepted", File: "fs/internal/staging/handle.go",
			Old: "if answered {\n", New: "if answered = answered && h.stopWriting() && h.File == nil; answered {\n", Async: true,
			Focus: history.Focus{
				Kinds: slices.Repeat([]history.Kind{history.Two}, 6),
				Session: history.Session{
					End: history.Clean, Disk: []disk.Fault{{Op: disk.Sync, Name: "log.*", Nth: 1, Times: 6, Errno: syscall.EIO}},
				},
			},
		},
		{
			Name: "keywords do not go along with a file", File: "internal/spool/deliver.go",
			Old: "r.ExternalID = r.SentID\n", New: "r.ExternalID, r.Keywords = r.SentID, nil\n",
			Focus: history.Focus{Kinds: slices.Repeat([]history.Kind{history.Write}, 4), Session: history.Session{End: history.Clean}},
		},
		{
			Name: "keywords do not go along out of an inbox", File: "fs/internal/change/renames.go",
			Old: "newName), Keywords: staging.Added(inbox.Keywords, keywords)}", New: "newName), Keywords: keywords[:0]}",
			Focus: history.Focus{Kinds: []history.Kind{history.File}, Session: history.Session{End: history.Clean}},
		},
		{
			Name: "the new name of what is queued is not written down", File: "fs/internal/change/renames.go",
			Old: "default:\n\t\terr = up.Update(move)", New: "default:", Async: true,
			Focus: history.Focus{Kinds: slices.Repeat([]history.Kind{history.Move}, 4), Service: history.Full, Session: queued().Session},
		},
		{
			Name: "a file that gets its real name is not sent", File: "fs/internal/change/renames.go",
			Old: "case sends || !local && f.Ready(up):", New: "case sends:", Async: true,
			Focus: history.Focus{Kinds: []history.Kind{history.Temporary}, Session: history.Session{End: history.Clean}},
		},
		{
			Name: "a file that lacks its end is whole", File: "internal/whole/whole.go",
			Old: "if err == nil && !whole {", New: "if err == nil && !whole && c.Size() < 0 {",
			Focus: history.Focus{Kinds: []history.Kind{history.Cut}, Session: history.Session{End: history.Clean}},
		},
		{
			Name: "what was cut off while it was sent is not looked for", File: "internal/spool/deliver.go",
			Old: "v := d.findOut(ctx, errCutOff)\n", New: "v := verdict{}\n",
			Focus: history.Focus{
				Kinds: []history.Kind{history.Write}, Service: history.Full,
				Session: killedAt(spool.PointAnswered, history.Kill),
			},
			Unneeded: "nobody was told of what was cut off; kept as failed, with a reason that leaves it open, it breaks no promise",
		},
	}
}
