package running

import (
	"errors"
	"fmt"
	"io"
	"log/syslog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
)

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
