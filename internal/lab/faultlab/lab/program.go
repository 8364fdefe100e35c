//go:build linux

package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/spool"
)

// times of the program under test: short, so that runs are.
const (
	timeToLive = 300 * time.Millisecond
	retryFor   = 300 * time.Millisecond
	timeout    = 2 * time.Second // of a request without progress
	endsWithin = time.Minute     // after SIGTERM
)

// program is the archivefs of a session.
type program struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process is gone
	err    error         // how it ended; valid after exited
	log    string        // what it printed on standard error
}

// mount starts the program and returns when the mount is usable, or when the program has
// ended before that; ready tells which.
func (r *run) mount(strike history.Strike, grace time.Duration) (p *program, ready bool, err error) {
	p = &program{exited: make(chan struct{}), log: filepath.Join(r.dir, "log")}
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, false, err
	}
	defer log.Close()                              //nolint:errcheck // the process has it
	p.cmd = exec.Command(r.bench.Program, "mount", //nolint:gosec,noctx // the program under test; it is ended by the session
		"--base-url", "http://"+r.proxy.Addr()+r.service.base(), "--state-dir", filepath.Join(r.diskDir(), "state"),
		"--writes", string(r.h.Writes), "--ttl", timeToLive.String(), "--retry-for", retryFor.String(),
		"--timeout", timeout.String(), "--time-zone", "UTC", "--notify", "none", "--grace", grace.String(), r.mountpoint())
	p.cmd.Env = append(os.Environ(), "ARCHIVEFS_API_KEY="+apiKey, "HOME="+r.dir, "ARCHIVEFS_FAULT_LOG="+r.pointLog(),
		fmt.Sprintf("ARCHIVEFS_FAULT_BOOT=run %d of the machine", r.crashes),
		fmt.Sprintf("ARCHIVEFS_FAULT=%s:%d:%s", strike.Point, strike.Nth, strike.Deed))
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, false, err
	}
	go p.bury(r.mountpoint())
	line, _ := bufio.NewReader(out).ReadString('\n') // at its end there is no line
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if !strings.HasPrefix(line, "mounted ") {
		<-p.exited
		return p, false, nil
	}
	return p, true, nil
}

// gone reports whether the process has ended.
func (p *program) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// bury breaks the mount of a process that was killed and does not go: it waits for itself.
// One that is killed while it tells the kernel of a change waits for a directory that a
// program has locked, which waits for an answer of the process; and go-fuse opens a file of
// its own mount at the beginning, which the kernel closes at the end, asking the process.
func (p *program) bury(mountpoint string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.exited:
			return
		case <-tick.C:
		}
		if p.stuck() {
			_ = unix.Unmount(mountpoint, unix.MNT_FORCE|unix.UMOUNT_NOFOLLOW) // breaks it also when it is busy
		}
	}
}

// dying reports whether the process was killed, and may be gone.
func (p *program) dying() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil || p.gone() {
		return true
	}
	const exiting = 0x4                                                       // PF_EXITING of linux/sched.h
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // proc_pid_stat(5), from the third on
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return err == nil && flags&exiting != 0 || p.stuck()
}

// stuck reports whether the process was killed and is still there: its main thread is a
// zombie that waits for others, or cannot take the signal.
func (p *program) stuck() bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return false // gone
	}
	const kill = 1 << (syscall.SIGKILL - 1)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "State":
			if strings.HasPrefix(value, "Z") {
				return true
			}
		case "SigPnd", "ShdPnd": // proc_pid_status(5)
			if mask, err := strconv.ParseUint(value, 16, 64); err == nil && mask&kill != 0 {
				return true
			}
		}
	}
	return false
}

// kill ends the process at once.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.exited
}

// terminate asks the process to unmount and end, and waits for that.
func (p *program) terminate(ctx context.Context) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
	case <-time.After(endsWithin):
	}
	p.kill()
	return fmt.Errorf("the program did not end within %v of SIGTERM", endsWithin)
}

// said is the last that the process printed on standard error.
func (p *program) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// pointLog is the file where the program notes the points that it passes.
func (r *run) pointLog() string { return filepath.Join(r.dir, "points") }

// readPoints counts what struck at points since the last session.
func (r *run) readPoints() error {
	text, err := os.ReadFile(r.pointLog())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(text)) {
		point, deed, struck := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case !struck:
		case history.Deed(deed) == history.KillThere:
			r.result.Killed[spool.Point(point)]++
		default:
			r.result.Struck["point "+deed]++
			r.outcome.DiskFailed = true
		}
	}
	return errors.Join(os.RemoveAll(r.pointLog()))
}

// detach takes a mount out of sight, if there is one.
func detach(dir string) error {
	for {
		err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // nothing is mounted there
			return nil
		case errors.Is(err, unix.EPERM): // an ordinary user
			return detachByHelper(dir)
		case err != nil:
			return fmt.Errorf("detach %s: %w", dir, err)
		}
	}
}

// detachByHelper is detach for ordinary users.
func detachByHelper(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || !strings.Contains(string(mounts), " "+dir+" ") {
		return err
	}
	return exec.Command("fusermount3", "-uz", dir).Run() //nolint:gosec,noctx // a mount of the run
}
