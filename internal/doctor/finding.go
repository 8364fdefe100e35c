package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Level is how bad a finding is.
type Level string

// The levels. With a warning a mount works; with a failure it does not, or not always.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Failure Level = "failure"
)

// Finding is the result of a check. Its texts are printable.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // how to fix it; empty if there is nothing to fix
}

// Fine is a finding that all is well.
func Fine(check, text string) Finding { return Finding{check, OK, archive.Printable(text), ""} }

// Warn is a finding of something that may matter.
func Warn(check, text, do string) Finding {
	return Finding{check, Warning, archive.Printable(text), archive.Printable(do)}
}

// Fail is a finding of something that does not work.
func Fail(check, text, do string) Finding {
	return Finding{check, Failure, archive.Printable(text), archive.Printable(do)}
}

// Failures counts the findings of level Failure.
func Failures(findings []Finding) (n int) {
	for _, f := range findings {
		if f.Level == Failure {
			n++
		}
	}
	return n
}

// Cure says what may help if the service at base cannot be used.
func Cure(base string, err error) string {
	var distrust *tls.CertificateVerificationError
	var failed *archive.Error
	plain, encrypted := strings.CutPrefix(base, "https:")
	switch kind := archive.KindOf(err); {
	case errors.As(err, &distrust):
		return trust(err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the service speaks http: write --base-url http:" + plain
	case kind == archive.KindUnauthorized, kind == archive.KindForbidden:
		return "check the API key, and the user with password or the Cloud-ID that go with it"
	case errors.As(err, &failed) && failed.Proxy != "":
		return "check --proxy (none for a service that is reached without one), --base-url and the network"
	case !encrypted && (kind == archive.KindInterrupted || kind == archive.KindInvalid):
		return "if the service speaks https, write --base-url https:" + strings.TrimPrefix(base, "http:")
	case kind == archive.KindForeign:
		return "check --base-url and the network: what answers there is not the archive service"
	case kind == archive.KindNotFound, kind == archive.KindUnsupported, kind == archive.KindProtocol, kind == archive.KindInvalid:
		return "check --base-url: what answers there is no archive service"
	}
	return "check --base-url and the network"
}

// trust says what helps if the certificate is not trusted.
func trust(err error) string {
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate is valid from %s to %s: who runs the service has to renew it, unless the date of this machine is wrong",
			invalid.Cert.NotBefore.Format(time.DateOnly), invalid.Cert.NotAfter.Format(time.DateOnly))
	case errors.As(err, &host):
		names := host.Certificate.DNSNames
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		if len(names) == 0 {
			return "the certificate names no host: check --base-url, or ask who runs the service"
		}
		return archive.Printable("the certificate is for " + strings.Join(names, ", ") + ": check the host in --base-url")
	}
	return "name the certificate authority with --ca-file, if this is the right service"
}
