//go:build linux

package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
)

// session is a session under way.
type session struct {
	*run
	history.Session
	number  int
	ctx     context.Context // of the writers: done when the machine crashes
	crash   context.CancelFunc
	release chan struct{}  // closed when those that hang may go on
	hanging sync.WaitGroup // writers that outlast their step
}

// session carries out the nth session, from its mount to its end.
func (r *run) session(ctx context.Context, n int) error {
	s := &session{run: r, Session: r.h.Sessions[n], number: n, release: make(chan struct{})}
	s.ctx, s.crash = context.WithCancel(ctx)
	defer s.crash()
	r.proxy.Fail(s.Net...)
	r.disk.Fail(s.Disk...)
	p, ready, err := r.mount(s.Point, s.Grace)
	if err != nil {
		return err
	}
	s.trace.say("session %d: mounted: %v, with a time of grace of %v", n, ready, s.Grace)
	s.mu.Lock()
	s.program = p
	s.mu.Unlock()
	if s.End == history.Crash {
		go func() { // the machine takes the writers with it
			<-p.exited
			s.crash()
		}()
	}
	if ready {
		s.steps()
	}
	return errors.Join(s.end(), r.readPoints(), ctx.Err())
}

// steps carries out the steps until the program is gone.
func (s *session) steps() {
	for i, step := range s.Steps {
		if s.program.gone() {
			return
		}
		if i == len(s.Steps)-1 && s.Moment > 0 && s.End != history.Clean {
			timer := time.AfterFunc(s.Moment, func() { _ = s.program.cmd.Process.Kill() })
			defer timer.Stop()
		}
		s.step(step)
	}
}

// step carries out actions at the same time and waits for them, but for those that hang.
func (s *session) step(step history.Step) {
	var actions sync.WaitGroup
	for _, a := range step {
		if a.Kind != history.Hanging {
			actions.Go(func() { s.act(a) })
			continue
		}
		half := make(chan struct{})
		s.hanging.Go(func() { s.put(a, half) })
		actions.Go(func() { <-half })
	}
	actions.Wait()
}

// end ends the session as the history says, or as the program was ended at a point, and
// mends what was broken.
func (s *session) end() error {
	end := s.End
	if end == history.Clean && s.program.gone() {
		end = history.Kill
	}
	s.trace.say("session %d: ends: %s", s.number, end)
	var err error
	if end == history.Clean {
		s.mu.Lock()
		s.endRests()
		s.mu.Unlock()
		close(s.release)
		s.hanging.Wait()
		err = s.program.terminate(s.ctx)
	} else {
		s.program.kill()
		if end == history.Crash {
			s.crash()
		}
		close(s.release)
		s.hanging.Wait()
	}
	s.result.Struck["end "+string(end)]++
	if len(s.disk.Struck()) > 0 {
		s.outcome.DiskFailed = true
	}
	err = errors.Join(err, detach(s.mountpoint()))
	if end == history.Crash {
		err = errors.Join(err, s.crashDisk())
	}
	s.disk.Heal()
	return errors.Join(err, s.proxy.Heal())
}

// crashDisk makes the disk forget.
func (s *session) crashDisk() error {
	if err := s.unmountDisk(); err != nil {
		return err
	}
	s.crashes++
	s.disk.Crash(rand.New(rand.NewPCG(s.h.Seed^s.h.Run<<20, uint64(s.number)))) //nolint:gosec // not a secret, never negative
	return s.mountDisk()
}

// conclude mounts once more with nothing broken, waits until the mount is at rest, and
// takes down what is there. Then a person has all that failed sent again.
func (r *run) conclude(ctx context.Context) error {
	late := r.proxy.Late()
	r.mu.Lock()
	r.endRests()
	r.mu.Unlock()
	if err := r.whileMounted(ctx, r.inspect); err != nil {
		return err
	}
	docs, folders, err := r.service.contents(ctx)
	if err != nil {
		return err
	}
	r.outcome.Archive, r.outcome.Made = docs, folders
	r.takeStock(late)
	if len(r.outcome.Kept) == 0 {
		return r.readPoints()
	}
	if err := r.whileMounted(ctx, r.retryAll); err != nil {
		return err
	}
	r.outcome.Retried, _, err = r.service.contents(ctx)
	return errors.Join(err, r.readPoints())
}

// whileMounted calls do while the archive is mounted and nothing fails.
func (r *run) whileMounted(ctx context.Context, do func(context.Context) error) error {
	p, ready, err := r.mount(history.Strike{}, 0)
	if err != nil {
		return err
	}
	defer p.kill()
	if !ready {
		return fmt.Errorf("the program does not mount: %w: %s", p.err, p.said())
	}
	if err := do(ctx); err != nil {
		return fmt.Errorf("%w: %s", err, p.said())
	}
	if err := p.terminate(ctx); err != nil {
		return err
	}
	if p.err != nil {
		return fmt.Errorf("the program ended in disorder: %w: %s", p.err, p.said())
	}
	r.proxy.Wait()
	return nil
}
