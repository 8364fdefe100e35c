package history

import (
	"syscall"
	"time"

	"github.com/archivefs/archivefs/internal/faultlab/disk"
	"github.com/archivefs/archivefs/internal/faultlab/proxy"
	"github.com/archivefs/archivefs/internal/spool"
)

// points are the points that the actions of histories pass. A person's retry of a failed
// upload is none of them.
func points() []spool.Point {
	var all []spool.Point
	for _, p := range spool.Points() {
		if p != spool.PointRetry && p != spool.PointRetried {
			all = append(all, p)
		}
	}
	return all
}

// recovers reports whether a point is passed only where a run before left something
// unfinished.
func recovers(p spool.Point) bool { return p == spool.PointRecover || p == spool.PointRecovered }

// passing are actions that pass a point which not all do.
func passing(p spool.Point) []Kind {
	switch p { //nolint:exhaustive // the others are passed by every upload
	case spool.PointReopen, spool.PointReopened:
		return []Kind{KeepMore}
	case spool.PointKeep, spool.PointKept:
		return []Kind{Keep, Temporary}
	case spool.PointFail, spool.PointFailed:
		return []Kind{Killed}
	case spool.PointSync, spool.PointSynced:
		return []Kind{Two}
	case "":
		return nil
	}
	return []Kind{Write}
}

// strike draws a point and what happens there.
func (g *generator) strike(deed Deed) Strike {
	return Strike{Point: pick(g.rng, points()), Nth: 1 + g.rng.IntN(3)*g.rng.IntN(2), Deed: deed}
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
		Name: pick(g.rng, []string{"", "data", "data", ".tmp-*", "state.db"}),
		Nth:  1 + g.rng.IntN(8), Times: 1 + g.rng.IntN(3), Errno: pick(g.rng, []syscall.Errno{syscall.EIO, syscall.ENOSPC}),
	}
	return []disk.Fault{f}
}
