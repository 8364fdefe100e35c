package spool

// Point names a place between two steps of a transition, where a test makes the program
// or the disk fail.
type Point string

// The points, in the order in which a file passes them.
const (
	PointCreated   Point = "created"   // its record is written
	PointUpdate    Point = "update"    // before a changed record is written
	PointUpdated   Point = "updated"   // after
	PointSync      Point = "sync"      // before the data is synced
	PointSynced    Point = "synced"    // the data is durable, the record is not yet
	PointKeep      Point = "keep"      // the data of a local file is durable
	PointKept      Point = "kept"      // its record too
	PointCommit    Point = "commit"    // the data is complete and durable
	PointCommitted Point = "committed" // the record says so
	PointReopen    Point = "reopen"    // before a record says that it is written again
	PointReopened  Point = "reopened"  // after
	PointSend      Point = "send"      // before external id and baseline are written
	PointSending   Point = "sending"   // after; nothing is sent yet
	PointAnswered  Point = "answered"  // the service has answered, the record does not know
	PointConfirmed Point = "confirmed" // the record knows
	PointFail      Point = "fail"      // before a record says that it failed
	PointFailed    Point = "failed"    // after
	PointRetry     Point = "retry"     // before a failed upload is committed again
	PointRetried   Point = "retried"   // after
	PointRemove    Point = "remove"    // before the journal says that it is gone
	PointRemoved   Point = "removed"   // it is gone
	PointRecover   Point = "recover"   // before an unfinished upload is written as failed
	PointRecovered Point = "recovered" // after
	PointSwept     Point = "swept"     // all uploads of the last run are known
)

// fault asks the test's hook whether to fail here.
func (s *Spool) fault(p Point) error {
	if s.opts.Fault == nil {
		return nil
	}
	return s.saw(s.opts.Fault(p))
}

// Points returns all points, for tests that must pass through each of them.
func Points() []Point {
	return []Point{
		PointCreated, PointUpdate, PointUpdated, PointSync, PointSynced, PointKeep, PointKept,
		PointCommit, PointCommitted, PointReopen, PointReopened, PointSend, PointSending, PointAnswered, PointConfirmed,
		PointFail, PointFailed, PointRetry, PointRetried, PointRemove, PointRemoved,
		PointRecover, PointRecovered, PointSwept,
	}
}
