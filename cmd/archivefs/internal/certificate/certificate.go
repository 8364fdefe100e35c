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

// Certificate is a certificate with its key. It is reloaded when its files change, for instance by certbot. Existing
// connections stay open. If the new files are wrong, the old certificate stays in use.
type Certificate struct {
	certFile string
	keyFile  string
	log      logrus.FieldLogger

	mu   sync.Mutex
	pair *tls.Certificate // +checklocks:mu
	// texts are the contents of both files.
	texts  [2]string // +checklocks:mu
	looked time.Time // +checklocks:mu
}

// Open reads a certificate and its key. It refuses a key that other users can read.
func Open(certFile, keyFile string, log logrus.FieldLogger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.readLocked(true); err != nil {
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
	if read, err := c.readLocked(always); err != nil {
		c.log.Errorf("the certificate stays as it was: %v", err)
	} else if read {
		c.log.Infof("the certificate was read anew, and %s", ends(c.pair.Leaf))
	}
}

// readLocked reads the files, and takes what has changed, or always.
// +checklocks:c.mu
func (c *Certificate) readLocked(always bool) (read bool, err error) {
	chain, err := os.ReadFile(c.certFile)
	if err != nil {
		return false, fmt.Errorf("--tls-cert: %w", err)
	}
	key, err := config.ReadSecret(c.keyFile)
	if err != nil {
		return false, fmt.Errorf("--tls-key: %w", err)
	}
	texts := [2]string{string(chain), key}
	if texts == c.texts && !always {
		return false, nil
	}
	pair, err := tls.X509KeyPair(chain, []byte(key))
	if err != nil {
		return false, fmt.Errorf("--tls-cert %s and --tls-key %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair, c.texts = &pair, texts
	if left := time.Until(pair.Leaf.NotAfter); left < expiresSoon {
		c.log.Warnf("the certificate in %s %s; renew it", c.certFile, ends(pair.Leaf))
	}
	return true, nil
}

// ends says when a certificate expires, or expired.
func ends(leaf *x509.Certificate) string {
	at := leaf.NotAfter.Format(time.RFC3339)
	if leaf.NotAfter.Before(time.Now()) {
		return "ended at " + at
	}
	return "ends at " + at
}
