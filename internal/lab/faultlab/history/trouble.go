package history

import (
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/lab/faultlab/proxy"
	"github.com/archivefs/archivefs/internal/spool"
)

// recovers reports whether a point is passed only where a run before left something
// unfinished.
func recovers(p spool.Point) bool { return p == spool.PointRecover || p == spool.PointRecovered }

// needsService reports whether a point may be passed only when the service answers.
func needsService(p spool.Point) bool {
	switch p { // the others are passed without it
	case spool.PointSend, spool.PointSending, spool.PointAnswered, spool.PointConfirmed, spool.PointRetry, spool.PointRetried,
		spool.PointRemove, spool.PointRemoved:
		return true
	}
	return false
}

// passing are actions that pass a point.
func passing(p spool.Point) []Kind {
	switch p { // the others are passed by every upload
	case spool.PointReopen, spool.PointReopened:
		return []Kind{KeepMore}
	case spool.PointKeep, spool.PointKept:
		return []Kind{Keep, Temporary}
	case spool.PointUpdate, spool.PointUpdated:
		return []Kind{Temporary}
	case spool.PointFail, spool.PointFailed:
		return []Kind{Cut, Killed}
	case spool.PointRetry, spool.PointRetried:
		return []Kind{CutRetry, Retry}
	case spool.PointSync, spool.PointSynced:
		return []Kind{Two, Write}
	case "":
		return nil
	}
	return []Kind{Write}
}

// pass adds actions to the first step that pass the point of the session.
func (g *generator) pass(s *Session) {
	for _, kind := range passing(s.Point.Point) {
		a := g.action(kind)
		a.Fsync = a.Fsync || s.Point.Point == spool.PointSync || s.Point.Point == spool.PointSynced
		s.Steps[0] = append(s.Steps[0], a)
		if kind == Retry { // there is nothing to retry otherwise
			s.Net = append(s.Net, proxy.Fault{Op: proxy.Upload, Nth: 1, Times: 1 + g.rng.IntN(3), Deed: proxy.AnswerBefore, Status: 400})
		}
	}
}

// queue begins the session with a folder that the service cannot make, since it has gone,
// and files that are put into it meanwhile. The service comes back soon or with the next
// session.
func (g *generator) queue(s *Session) {
	folder := g.action(Mkdir)
	var files Step
	for range 1 + g.rng.IntN(3) {
		a := g.action(pick(g.rng, []Kind{Write, Write, Copy, Temporary, Rewrite, Killed, Move, Remove}))
		a.Dir = path.Join(folder.Dir, folder.Name)
		if a.Kind == Move && g.rng.IntN(2) == 0 {
			a.Dir, a.From = a.From, a.Dir
		}
		files = append(files, a)
	}
	away := proxy.Fault{Op: proxy.Folder, Nth: 1, Times: 1, Deed: proxy.Away, For: time.Hour}
	if g.rng.IntN(3) == 0 {
		away.For = time.Duration(400+g.rng.IntN(400)) * time.Millisecond
	}
	s.Net = slices.Insert(s.Net, 0, away)
	s.Steps = slices.Insert(s.Steps, 0, Step{folder}, files)
}

// watched begins the session with a call that waits for the service while its folders change there,
// and somebody looks at them.
func (g *generator) watched(s *Session) {
	call := g.action(pick(g.rng, []Kind{Mkdir, File, Rename}))
	op := map[Kind]proxy.Operation{Mkdir: proxy.Folder, File: proxy.Archive, Rename: proxy.Rename}[call.Kind]
	step := Step{call}
	for range 1 + g.rng.IntN(2) {
		look := g.action(Look)
		look.Dir = pick(g.rng, []string{call.Dir, Inbox})
		step = append(step, look)
	}
	s.Net = slices.Insert(s.Net, 0, proxy.Fault{
		Op: op, Nth: 1, Times: 1, Deed: pick(g.rng, []proxy.Deed{proxy.Slow, proxy.HangBefore, proxy.Trickle}),
		For: time.Duration(600+g.rng.IntN(900)) * time.Millisecond,
	})
	s.Steps = slices.Insert(s.Steps, 0, step)
}

// kill is the death of the program at the point whose turn it is: so all points come
// equally often, whatever the seed. The number of kills of a run and that of the points have
// no common divisor that would leave some out.
func (g *generator) kill() Strike {
	points := spool.Points()
	turn := g.h.Seed + 5*g.h.Run + g.kills
	g.kills++
	strike := Strike{Point: points[turn%uint64(len(points))], Nth: 1, Deed: KillThere}
	if passing := passing(strike.Point); !recovers(strike.Point) && strike.Point != spool.PointSwept && passing[0] == Write {
		strike.Nth += g.rng.IntN(2) * g.rng.IntN(2)
	}
	return strike
}

// failure is a failure of the disk at some point.
func (g *generator) failure() Strike {
	return Strike{
		Point: pick(g.rng, spool.Points()), Nth: 1 + g.rng.IntN(3)*g.rng.IntN(2), Deed: pick(g.rng, []Deed{FailEIO, FailFull}),
	}
}

// netFaults draws what happens to requests, in half of the cases nothing.
func (g *generator) netFaults() []proxy.Fault {
	var all []proxy.Fault
	for range g.rng.IntN(2) * (1 + g.rng.IntN(3)) {
		f := proxy.Fault{
			Op:    pick(g.rng, []proxy.Operation{proxy.Upload, proxy.Upload, proxy.Upload, proxy.List, proxy.Folder, proxy.Archive, proxy.Rename, proxy.Replace, proxy.Data, proxy.Content, proxy.Any}),
			Nth:   1 + g.rng.IntN(3),
			Times: 1 + g.rng.IntN(2)*g.rng.IntN(3),
			Deed:  pick(g.rng, proxy.Deeds()),
			For:   time.Duration(10+g.rng.IntN(300)) * time.Millisecond,
		}
		if f.Deed == proxy.Slow { // less than the program waits for an answer, and looks for one that it got none of
			f.For *= 5
		}
		if f.Deed == proxy.Trickle { // longer in sum than the program waits
			f.For += 100 * time.Millisecond
		}
		f.Status = pick(g.rng, []int{400, 403, 404, 409, 413, 429, 500, 502, 503})
		if f.Deed == proxy.AnswerAfter {
			// Proxies answer like this for a service that has carried a request out. 429 is not
			// among them: it is said before anything is done (RFC 6585, 4).
			f.Status = pick(g.rng, []int{400, 409, 500, 502, 503, 504})
		}
		all = append(all, f)
	}
	return all
}

// diskFaults draws what fails on the disk, mostly nothing.
func (g *generator) diskFaults() []disk.Fault {
	if g.rng.IntN(5) != 0 {
		return nil
	}
	f := disk.Fault{
		Op:   pick(g.rng, []disk.Operation{disk.Write, disk.Write, disk.Sync, disk.Sync, disk.SyncDir, disk.Make, disk.Rename, disk.Truncate, disk.Remove}),
		Name: pick(g.rng, []string{"", "data-*", "log.*", "log.*", "state.db"}),
		Nth:  1 + g.rng.IntN(8), Times: 1 + g.rng.IntN(3), Errno: pick(g.rng, []syscall.Errno{syscall.EIO, syscall.ENOSPC}),
	}
	return []disk.Fault{f}
}
