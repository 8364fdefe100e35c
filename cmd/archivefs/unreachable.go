package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// unreachable says what to do when the first request failed.
func (s *session) unreachable(err error) error {
	base := s.client.BaseURL()
	return fmt.Errorf("cannot use the archive service at %s: %w; %s", base, err, cure(base, err))
}

// cure says what may help when the service at base cannot be used.
func cure(base string, err error) string {
	var distrust *tls.CertificateVerificationError
	var unknown *net.DNSError
	plain, encrypted := strings.CutPrefix(base, "https:")
	switch kind := archive.KindOf(err); {
	case errors.As(err, &distrust):
		return "name the certificate authority with --ca-file, if this is the right service"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the service speaks http: write --base-url http:" + plain
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return "no host of the name " + unknown.Name + " is known: check --base-url and the network"
	case kind == archive.KindUnauthorized, kind == archive.KindForbidden:
		return "check the API key, and the user with password or the Cloud-ID that go with it"
	case !encrypted && (kind == archive.KindInterrupted || kind == archive.KindInvalid):
		return "if the service speaks https, write --base-url https:" + strings.TrimPrefix(base, "http:")
	case kind == archive.KindNotFound, kind == archive.KindUnsupported, kind == archive.KindProtocol, kind == archive.KindInvalid:
		return "check --base-url: what answers there is no archive service"
	}
	return "check --base-url and the network"
}
