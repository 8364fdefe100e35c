//go:build linux

package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/archivefs/archivefs/internal/lab/faultlab/writer"
)

// process is a writer at work.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	events chan writer.Event // closed at the end of the process
}

// start starts a writer. It is killed when ctx ends.
func (b *Bench) start(ctx context.Context, order *writer.Order) (*process, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	cmd := b.helper(ctx, wordWrite)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, in: in, events: make(chan writer.Event)}
	go func() {
		defer close(p.events)
		listen(out, p.events)
		_ = cmd.Wait() // how it ended is seen by what it said
	}()
	_, _ = in.Write(append(text, '\n')) // a process that was killed reads no more
	return p, nil
}

// helper is a process of the lab that may use a mount.
func (b *Bench) helper(ctx context.Context, args ...string) *exec.Cmd {
	words := append(slices.Clone(b.Helper), args...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the lab itself
	cmd.Env = os.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	return cmd
}

// listen passes on what a process says, an event a line, until it says no more.
func listen(out io.Reader, events chan<- writer.Event) {
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadBytes('\n')
		var e writer.Event
		if json.Unmarshal(line, &e) == nil { // else it was cut off by the death of the process
			events <- e
		}
		if err != nil {
			return
		}
	}
}

// goOn lets a process that waits go on.
func (p *process) goOn() { _, _ = io.WriteString(p.in, "\n") }

// kill ends the process as Ctrl-C of a shell or a crash does.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

// until takes events up to the mark; false when the process ended before.
func (p *process) until(mark writer.Mark, see func(writer.Event)) bool {
	for e := range p.events {
		see(e)
		if e.Mark == mark {
			return true
		}
	}
	return false
}

// rest takes the remaining events.
func (p *process) rest(see func(writer.Event)) {
	for e := range p.events {
		see(e)
	}
}
