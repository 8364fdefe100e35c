package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// asProgram in the environment makes the test binary the program itself, for tests of what
// only processes show.
const asProgram = "TEST_AS_ARCHIVEFS"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	// nohup(1), and a shell for what runs in the background, let programs ignore these; those of tests
	// shall not.
	for _, s := range []os.Signal{syscall.SIGHUP, os.Interrupt} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	keyring.MockInit() // tests touch nobody's
	code := m.Run()
	pgtest.End()
	os.Exit(code)
}

// program is archivefs as a process of its own.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string // of standard output; closed when that ends
	done   chan error
	mu     sync.Mutex
	stderr bytes.Buffer // guarded by mu
}

// start starts the program; it is killed when the test ends without having stopped it.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startOn(t, nil, args...)
}

// startOn starts the program at a terminal, but for its standard output, where there is one.
func startOn(t *testing.T, terminal *os.File, args ...string) *program {
	t.Helper()
	return startWith(t, func(cmd *exec.Cmd) {
		if terminal != nil {
			cmd.Stdin, cmd.Stderr = terminal, terminal
		}
	}, args...)
}

// startWith starts the program as prepare wants it. When the test ends so has the program, which
// writes nothing any more to directories that are removed then.
func startWith(t *testing.T, prepare func(*exec.Cmd), args ...string) *program {
	t.Helper()
	p := &program{t: t, lines: make(chan string, 100), done: make(chan error, 1)}
	p.cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	p.cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=20") // not a second for each process
	p.cmd.Stderr = p
	prepare(p.cmd)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
		close(p.lines)
		_, _ = io.Copy(io.Discard, out)
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() {
		go func() {
			for range p.lines { // which nobody reads any more
			}
		}()
		_ = p.wait() // it was killed, or has ended before
	})
	return p
}

// Write takes what the program says on standard error.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *program) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// line waits for a line of output that begins with prefix, and returns the rest of it.
func (p *program) line(prefix string) string {
	p.t.Helper()
	limit := time.After(5 * time.Minute)
	for {
		select {
		case text, open := <-p.lines:
			if !open {
				p.t.Fatalf("no line %q, but %v: %s", prefix, p.wait(), p.said())
			}
			if rest, ok := strings.CutPrefix(text, prefix); ok {
				return rest
			}
		case <-limit:
			p.t.Fatalf("no line %q: %s", prefix, p.said())
		}
	}
}

// stop ends the program as Ctrl-C does, and fails the test unless it ends well.
func (p *program) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		p.t.Fatalf("stopped with %v: %s", err, p.said())
	}
}

// signal sends the program a signal.
func (p *program) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// says waits until the program has said text on standard error.
func (p *program) says(text string) {
	p.t.Helper()
	heals(p.t, "the program says "+text, func() bool { return strings.Contains(p.said(), text) })
}

// wantExit waits for the end of the program and fails the test unless it ends with status.
func (p *program) wantExit(status int) {
	p.t.Helper()
	_ = p.wait() // the exit status tells more
	if got := p.cmd.ProcessState.ExitCode(); got != status {
		p.t.Fatalf("exit status %d, want %d: %s", got, status, p.said())
	}
}

// wait waits for the end of the program.
func (p *program) wait() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		p.done <- err
		return err
	case <-time.After(time.Minute):
		p.t.Fatalf("does not end: %s", p.said())
		return nil
	}
}

// startMount mounts at dir until the test ends, at the latest.
func startMount(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	return startMountOn(t, nil, dir, args...)
}

func startMountOn(t *testing.T, terminal *os.File, dir string, args ...string) *program {
	t.Helper()
	unmountAtEnd(t, dir)
	return startOn(t, terminal, append([]string{"mount", dir}, args...)...)
}

// heals tries until ok holds. The limit is for what never comes.
func heals(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// unmountAtEnd fails the test when something is still mounted at dir after it.
func unmountAtEnd(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() {
		if mounted.DetachMount(context.Background(), dir) == nil {
			t.Errorf("%s was still mounted", dir)
		}
	})
}
