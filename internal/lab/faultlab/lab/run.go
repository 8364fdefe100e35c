//go:build linux

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/archivefs/archivefs/internal/lab/faultlab/audit"
	"github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/proxy"
	"github.com/archivefs/archivefs/internal/lab/faultlab/writer"
)

// run is a history under way.
type run struct {
	bench  *Bench
	h      *history.History
	dir    string
	result *Result

	trace   trace
	clock   atomic.Uint64
	service service
	proxy   *proxy.Proxy
	disk    *disk.Disk
	mounted *disk.Mounted // nil while the disk is not mounted
	docs    []*document   // those that waited in the inbox
	crashes int           // of the machine so far

	mu      sync.Mutex
	outcome audit.Outcome // folders and reads are guarded by mu
	files   []*audit.File // that programs put in; guarded by mu
	works   map[int]*work // by the action that began it; guarded by mu
	odd     error         // a program got an answer that nothing explains; guarded by mu
	found   writer.Found  // in the end
	local   []string      // the paths of local files then
	program *program      // of the session, or of the last one; guarded by mu
}

// document is an inbox document and where it went. Only one action at a time is about it.
type document struct {
	dir, name string // where the program has it
	// unsure says that nobody can tell where the archive has it, late that this does not end:
	// a request that was not answered may still be carried out.
	unsure, late bool
	// files are the contents that it had, or may have; guarded by run.mu.
	files []*audit.File
}

func (r *run) tick() uint64 { return r.clock.Add(1) }

func (r *run) diskDir() string    { return filepath.Join(r.dir, "disk") }
func (r *run) mountpoint() string { return filepath.Join(r.dir, "mnt") }

// all carries out the history, mends everything, and judges.
func (r *run) all(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(ctx); err != nil {
		return err
	}
	for i := range r.h.Sessions {
		if err := r.session(ctx, i); err != nil {
			return fmt.Errorf("session %d: %w", i, err)
		}
	}
	if err := r.conclude(ctx); err != nil {
		return fmt.Errorf("after all was mended: %w", err)
	}
	if r.odd != nil {
		return r.odd
	}
	r.result.Violations = audit.Judge(&r.outcome)
	return nil
}

// open makes everything that the sessions need.
func (r *run) open(ctx context.Context) (err error) {
	for _, dir := range []string{r.diskDir(), r.mountpoint()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if r.bench.Keep {
		if err := r.trace.begin(r.dir); err != nil {
			return err
		}
	}
	r.works = map[int]*work{}
	r.outcome.Others = []string{history.Folder}
	r.outcome.Sync = r.h.Writes == history.Sync
	if r.service, err = newService(ctx, r.h.Service, filepath.Join(r.dir, "archive")); err != nil {
		return err
	}
	for _, w := range r.h.Waiting {
		f := &audit.File{
			What: w.Name, Folder: history.Inbox, Name: w.Name, Content: r.h.Content(w.Index, w.Size), Old: true, Told: audit.OK,
		}
		if err := r.service.wait(w.Name, f.Content); err != nil {
			return err
		}
		r.docs = append(r.docs, &document{dir: history.Inbox, name: w.Name, files: []*audit.File{f}})
	}
	if r.proxy, err = proxy.Start(r.trace.overhear(r.service), r.tick, r.trace.say); err != nil {
		return err
	}
	r.disk = disk.New()
	return r.mountDisk()
}

func (r *run) mountDisk() (err error) {
	r.mounted, err = r.disk.Mount(r.diskDir())
	return err
}

func (r *run) unmountDisk() error {
	if r.mounted == nil {
		return nil
	}
	if err := r.mounted.Unmount(); err != nil {
		return err
	}
	r.mounted = nil
	return nil
}

// close ends what open began.
func (r *run) close() error {
	err := detach(r.mountpoint())
	if uerr := r.unmountDisk(); uerr != nil {
		err = errors.Join(err, uerr, detach(r.diskDir()))
	}
	if r.proxy != nil {
		for name, n := range r.proxy.Struck() {
			r.result.Struck[name] += n
		}
		err = errors.Join(err, r.proxy.Close())
	}
	if r.disk != nil {
		for name, n := range r.disk.Struck() {
			r.result.Struck[name] += n
		}
	}
	if r.service != nil {
		err = errors.Join(err, r.service.close())
	}
	return errors.Join(err, r.trace.end())
}
