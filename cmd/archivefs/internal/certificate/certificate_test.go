package certificate

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/testing/certtest"
)

// A certificate that has ended is not said to end.
func TestACertificateThatHasEnded(t *testing.T) {
	dir := t.TempDir()
	var said strings.Builder
	log := logrus.New()
	log.SetOutput(&said)
	for lasts, want := range map[time.Duration]string{-time.Minute: " ended at ", time.Hour: " ends at "} {
		said.Reset()
		pair := certtest.Write(t, dir, 1, lasts)
		c, err := Open(pair.Cert, pair.Key, log)
		if err != nil {
			t.Fatal(err)
		}
		c.Reload()
		other := map[string]string{" ended at ": " ends at ", " ends at ": " ended at "}[want]
		if strings.Count(said.String(), want) != 3 || strings.Contains(said.String(), other) || !strings.Contains(said.String(), "renew it") {
			t.Errorf("%s: %s", lasts, said.String())
		}
	}
}

// What certbot changes is seen without a signal.
func TestACertificateThatChangesIsReadAnew(t *testing.T) {
	dir := t.TempDir()
	pair := certtest.Write(t, dir, 1, time.Hour*24*90)
	log := logrus.New()
	log.SetOutput(io.Discard)
	c, err := Open(pair.Cert, pair.Key, log)
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		got, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf.SerialNumber.Int64()
	}
	looked := func(at time.Time) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.looked = at
	}
	looked(time.Now())
	certtest.Write(t, dir, 2, time.Hour*24*90)
	if got := serial(); got != 1 {
		t.Errorf("certificate %d, as if the files were looked at for each connection", got)
	}
	looked(time.Time{})
	if got := serial(); got != 2 {
		t.Errorf("certificate %d", got)
	}
	if err := os.Remove(pair.Key); err != nil {
		t.Fatal(err)
	}
	looked(time.Time{})
	if got := serial(); got != 2 {
		t.Errorf("certificate %d without its key", got)
	}
}
