package fs

import (
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// An archive holds no empty document. An inbox document that is emptied and closed stays at
// the service as it was, and reads empty here for a while, because what is emptied is
// mostly written again (: > FILE; echo >> FILE). The next listing after that shows it as it
// is, as a fresh mount does.

// nothingIn reports whether a record is of an inbox document that was emptied and closed.
func nothingIn(r *spool.Record) bool {
	return r.Replace != 0 && r.State == spool.Created && r.Closed && r.Size == 0
}

// refillLocked makes the entry of a document that was emptied long enough ago what the
// service has. The caller holds mu of the directory.
func (p *placing) refillLocked(d *dir, e *entry) {
	f := e.file.Load()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	up := f.up
	if up == nil || f.handles > 0 {
		return
	}
	if r := up.Record(); !nothingIn(&r) || p.fs.now().Before(r.Changed.Add(p.fs.grace())) {
		return
	}
	f.up = nil
	f.happenedLocked(onArrival)
	p.fs.work.Go(func() {
		p.fs.log.WithField("path", archive.Printable(f.path())).Warn("it was emptied and not written since: it has the content again that the service has")
		p.fs.staging.discard(up)
	})
}
