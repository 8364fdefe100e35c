// Package certificate keeps the certificate of a service, and reads it again when its files change.
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
	// lookEvery is how often the files of a certificate are looked at, at most, and only
	// when somebody connects.
	lookEvery = 10 * time.Second
	// expiresSoon is when an administrator wants to know that a certificate ends.
	expiresSoon = 14 * 24 * time.Hour
)

// Certificate is that of a service, with its key. It is read again when its files have
// changed, as certbot changes them. Connections that are there stay; when what is read is
// wrong, so does the certificate.
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

// Open reads a certificate and its key, of which others must not be able to read
// the key.
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

// Config is for what listens.
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

// Expiry is when the certificate ends.
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

// ends says when a certificate ends, or ended.
func ends(leaf *x509.Certificate) string {
	at := leaf.NotAfter.Format(time.RFC3339)
	if leaf.NotAfter.Before(time.Now()) {
		return "ended at " + at
	}
	return "ends at " + at
}
