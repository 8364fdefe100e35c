package main

import (
	"errors"
	"fmt"
	"io"
	"log/syslog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
)

// What still goes on when the time for uploads is over has the log until the process has ended.
func TestLogIsOpenToTheEnd(t *testing.T) {
	b := newBusy(t, nil, "a.txt", "b.txt", "c.txt", "d.txt")
	<-b.gate.arrived
	b.program.signal(syscall.SIGKILL)
	_ = b.program.wait() // it was killed
	wantCall(t, 0, "", "unmount", b.dir)
	log := filepath.Join(t.TempDir(), "log")
	b.mount(nil, "--log-file", log, "--timeout", "1h", "--drain", "10ms") // so long they may still arrive
	heals(t, "they are looked for", func() bool {
		_, status, err := readStatus(b.dir)
		return err == nil && status.Uploads.Sending == 4
	})
	b.program.stop()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Error(err)
	}
	if said := b.program.said() + string(text); strings.Contains(said, "Failed to write") {
		t.Errorf("said %s", said)
	}
}

// report logs an entry of each level.
func report(log *logrus.Logger) {
	log.SetLevel(logrus.DebugLevel)
	log.WithField("path", `a "b"`).WithField("kind", 7).Error("not taken")
	log.Warn("away")
	log.Info("mounted")
	log.Debug("asked")
}

func TestLogForTheJournal(t *testing.T) {
	var out strings.Builder
	log := logrus.New()
	log.SetOutput(&out)
	log.SetFormatter(forJournal{undated(&logrus.TextFormatter{})})
	report(log)
	want := "<3>not taken kind=\"7\" path=\"a \\\"b\\\"\"\n<4>away\n<6>mounted\n<7>asked\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	log.SetFormatter(forJournal{undated(&logrus.JSONFormatter{})})
	log.Info("mounted")
	if got, want := out.String(), `<6>{"level":"info","msg":"mounted"}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLogToAHook(t *testing.T) {
	var got []string
	log := logrus.New()
	if err := toHook(log, func(level logrus.Level, text string) error {
		got = append(got, fmt.Sprint(int(priority(level)), " ", text))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	report(log)
	if want := []string{`3 not taken kind="7" path="a \"b\""`, "4 away", "6 mounted", "7 asked"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLogToSyslog(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // loopback: it does not wait
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	w, err := syslog.Dial("udp", server.LocalAddr().String(), syslog.LOG_DAEMON|syslog.LOG_INFO, "archivefs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	log := logrus.New()
	if err := toHook(log, syslogEntry(w)); err != nil {
		t.Fatal(err)
	}
	report(log)
	if err := server.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	const daemon = int(syslog.LOG_DAEMON)
	for _, want := range []struct {
		priority int
		text     string
	}{{3, `not taken kind="7" path="a \"b\""`}, {4, "away"}, {6, "mounted"}, {7, "asked"}} {
		buf := make([]byte, 1<<12)
		n, _, err := server.ReadFrom(buf)
		if err != nil {
			t.Fatal(err)
		}
		got := string(buf[:n])
		if !strings.HasPrefix(got, fmt.Sprintf("<%d>", daemon|want.priority)) || !strings.Contains(got, " archivefs[") || !strings.HasSuffix(got, ": "+want.text+"\n") {
			t.Errorf("got %q, want %d and %q", got, daemon|want.priority, want.text)
		}
	}
}

// Where standard error is the journal's, the log has no times, and priorities.
func TestLogOnTheStreamOfTheJournal(t *testing.T) {
	isolate(t)
	path := filepath.Join(t.TempDir(), "stream")
	stream, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	var info syscall.Stat_t
	if err := syscall.Fstat(int(stream.Fd()), &info); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JOURNAL_STREAM", fmt.Sprintf("%d:%d", info.Dev, info.Ino))
	p := startWith(t, func(cmd *exec.Cmd) { cmd.Stderr = stream }, "serve", "--import", t.TempDir(), "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	p.line("serving ")
	p.stop()
	startWith(t, func(cmd *exec.Cmd) { cmd.Stderr = stream }, "serve", "operand").wantExit(2)
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "<6>import of ") || !strings.Contains(string(text), "\n<3>archivefs: serve takes no operands") {
		t.Errorf("the journal reads %q, %v", text, err)
	}
}

func TestLogToWhatIsNotThere(t *testing.T) {
	for where, sockets := range map[string][]string{
		toJournal: {"/run/systemd/journal/socket"}, toSyslog: {"/dev/log", "/var/run/syslog", "/var/run/log"},
	} {
		if slices.ContainsFunc(sockets, func(path string) bool { _, err := os.Stat(path); return !errors.Is(err, os.ErrNotExist) }) {
			continue // it is
		}
		log := logrus.New()
		if err := logTo(log, where, false); err == nil || !strings.Contains(err.Error(), "--log-file") {
			t.Errorf("%s: got error %v, want one that names --log-file", where, err)
		}
	}
	log := logrus.New()
	if err := logTo(log, "", true); err != nil || log.Out != io.Discard {
		t.Errorf("in the background: it goes to %v, %v", log.Out, err)
	}
}
