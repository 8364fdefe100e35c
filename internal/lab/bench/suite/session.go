//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// mountLimit is what a mount may take until its root can be listed.
const mountLimit = 30 * time.Second

// session is one mount of a system, from an empty state to its end.
type session struct {
	b       *Bench
	sys     *system
	server  *server // nil for none
	mnt     string  // the tree itself for the plain file system
	state   string
	env     []string
	process *machine.Process // nil for the plain file system
	copied  []string         // where what was copied in lies, if the server serves the tree
}

// mount mounts a system whose server is at address, and returns how long it took until its
// root could be listed. The session must be ended, also after an error.
func (b *Bench) mount(ctx context.Context, sys *system, srv *server, address string, further ...string) (*session, time.Duration, error) {
	s := &session{b: b, sys: sys, server: srv, mnt: filepath.Join(b.dir, "mnt", sys.name), state: filepath.Join(b.dir, "state", sys.name)}
	if sys.mount == "" {
		s.mnt = b.corpus.Tree()
	}
	s.env = b.env(append(b.places(s.mnt, address), append(further, "STATE="+s.state)...)...)
	const first = `ls "$MNT" > /dev/null`
	if sys.mount == "" {
		r, err := machine.Run(ctx, first, s.env, mountLimit)
		return s, r.Took, err
	}
	for _, dir := range []string{s.mnt, s.state} {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // davfs2 works as a user of its own
			return s, 0, err
		}
	}
	began := time.Now()
	var err error
	if s.process, err = machine.Start(ctx, sys.mount, s.env, b.logPath(sys.name)); err != nil {
		return s, 0, err
	}
	for time.Since(began) < mountLimit && ctx.Err() == nil && !s.process.Failed() {
		if machine.Mounted(s.mnt) != "" {
			if _, err := machine.Run(ctx, first, s.env, mountLimit); err == nil {
				return s, time.Since(began), nil
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return s, 0, fmt.Errorf("%s cannot be mounted; see %s", sys.name, b.logPath(sys.name))
}

// alive returns an error when the mount is gone.
func (s *session) alive() error {
	if s.sys.mount != "" && (machine.Mounted(s.mnt) == "" || s.process.Failed()) {
		return fmt.Errorf("the mount is gone; see %s", s.b.logPath(s.sys.name))
	}
	return nil
}

// family are the processes of the mount.
func (s *session) family() []int { return machine.Family(s.b.apart()...) }

// end unmounts and forgets. It does so also when ctx has ended.
func (s *session) end(ctx context.Context) error {
	if s.process == nil {
		return s.removeCopied()
	}
	ctx = context.WithoutCancel(ctx)
	pids := s.family()
	err := machine.Unmount(ctx, s.mnt)
	machine.End(pids, 15*time.Second)
	s.process.Stop()
	return errors.Join(err, os.RemoveAll(s.state), s.removeCopied())
}

// requests counts what the server was asked, nothing where nobody counts.
func (s *session) requests(ctx context.Context) (map[string]int, error) {
	if s.sys.requests == nil {
		return nil, nil
	}
	return s.sys.requests(ctx, s)
}

// since returns what was added to the counts.
func since(before, after map[string]int) map[string]int {
	added := map[string]int{}
	for name, n := range after {
		if n > before[name] {
			added[name] = n - before[name]
		}
	}
	return added
}
