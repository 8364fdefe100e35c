// Package certificate holds the certificate of a service, and reloads it when its files change.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/config"
)

const (
	// lookEvery is how often at most the files are checked; a connection triggers the check.
	lookEvery = 10 * time.Second
	// expiresSoon is how long before the end of a certificate the log warns.
	expiresSoon = 14 * 24 * time.Hour
)

// Certificate is a certificate with its key. It is reloaded when its files change, for instance by
// certbot. Existing connections stay open. If the new files are wrong, the old certificate stays in
// use.
type Certificate struct {
	certFile string
	keyFile  string
	log      logrus.FieldLogger

	mu   sync.Mutex
	pair *tls.Certificate // +checklocks:mu
	// seen are the files that were read.
	seen   [2]os.FileInfo // +checklocks:mu
	looked time.Time      // +checklocks:mu
}

// Open reads a certificate and its key. It refuses a key that other users can read.
func Open(certFile, keyFile string, log logrus.FieldLogger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, err := c.look()
	if err != nil {
		return nil, config.Usagef("%v", err)
	}
	if err := c.readLocked(seen); err != nil {
		return nil, config.Usagef("%v", err)
	}
	return c, nil
}

// Config is for the listener.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: c.get}
}

func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= lookEvery {
		c.renewLocked(false)
	}
	return c.pair, nil
}

// Reload reads the files, changed or not.
func (c *Certificate) Reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.renewLocked(true)
}

// Expiry is when the certificate expires.
func (c *Certificate) Expiry() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pair.Leaf.NotAfter
}

// +checklocks:c.mu
func (c *Certificate) renewLocked(always bool) {
	c.looked = time.Now()
	seen, err := c.look()
	if err == nil && !always && unchanged(seen, c.seen) {
		return
	}
	if err == nil {
		err = c.readLocked(seen)
	}
	if err != nil {
		c.log.Errorf("the certificate stays as it was: %v", err)
		return
	}
	c.log.Infof("the certificate was read anew, and %s", ends(c.pair.Leaf))
}

func (c *Certificate) look() (seen [2]os.FileInfo, err error) {
	for i, file := range []string{c.certFile, c.keyFile} {
		if seen[i], err = os.Stat(file); err != nil {
			return seen, fmt.Errorf("%s: %w", []string{"--tls-cert", "--tls-key"}[i], err)
		}
	}
	return seen, nil
}

func unchanged(now, then [2]os.FileInfo) bool {
	for i := range now {
		if !os.SameFile(now[i], then[i]) || now[i].Size() != then[i].Size() || !now[i].ModTime().Equal(then[i].ModTime()) {
			return false
		}
	}
	return true
}

// readLocked reads the files that were seen.
// +checklocks:c.mu
func (c *Certificate) readLocked(seen [2]os.FileInfo) error {
	chain, err := os.ReadFile(c.certFile)
	if err != nil {
		return fmt.Errorf("--tls-cert: %w", err)
	}
	key, err := config.ReadSecret(c.keyFile)
	if err != nil {
		return fmt.Errorf("--tls-key: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, []byte(key))
	if err != nil {
		return fmt.Errorf("--tls-cert %s and --tls-key %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair, c.seen = &pair, seen
	if left := time.Until(pair.Leaf.NotAfter); left < expiresSoon {
		c.log.Warnf("the certificate in %s %s; renew it", c.certFile, ends(pair.Leaf))
	}
	return nil
}

// ends says when a certificate expires, or expired.
func ends(leaf *x509.Certificate) string {
	at := leaf.NotAfter.Format(time.RFC3339)
	if leaf.NotAfter.Before(time.Now()) {
		return "ended at " + at
	}
	return "ends at " + at
}
