package doctor

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Answer is the head of the service's first answer.
type Answer struct {
	Date time.Time            // by its clock; zero if it sends none
	TLS  *tls.ConnectionState // nil without TLS
	Took time.Duration        // until the answer arrived
}

// Limits of the checks of a service.
const (
	renewal = 14 * 24 * time.Hour // time before its end at which to renew a certificate
	skew    = 2 * time.Minute     // largest difference of the clocks
	Slow    = time.Second         // time until the answer, of a service that is called slow
)

// Service checks how the first request to the service at base ended: with err, and with an answer
// unless that is nil. caller says whose credentials it used.
func Service(base, caller string, a *Answer, err error, now time.Time) []Finding {
	if distrust, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return []Finding{
			Fine("reachability", base+" can be reached"),
			Fail("TLS", distrust.Err.Error(), Cure(base, err)),
		}
	}
	if a == nil {
		return []Finding{Fail("reachability", fmt.Sprintf("%s cannot be reached: %v", base, err), Cure(base, err))}
	}
	reached := Fine("reachability", fmt.Sprintf("%s answers within %s", base, a.Took.Round(time.Millisecond)))
	if a.Took >= Slow {
		reached = Warn("reachability", fmt.Sprintf("%s is slow: it answers within %s", base, a.Took.Round(time.Millisecond)), "a longer --ttl asks it less often; tell who runs it")
	}
	return []Finding{
		reached,
		encryption(base, a.TLS, now),
		accepted(base, caller, err),
		clock(a, now),
	}
}

// encryption checks the connection.
func encryption(base string, state *tls.ConnectionState, now time.Time) Finding {
	const check = "TLS"
	if state == nil && onLoopback(base) {
		return Fine(check, "none, and none is needed on this machine")
	}
	if state == nil {
		return Warn(check, "none: credentials and documents can be read on the way", "use https, if the service has it")
	}
	version := tls.VersionName(state.Version)
	if len(state.PeerCertificates) == 0 {
		return Fine(check, version)
	}
	end := state.PeerCertificates[0].NotAfter
	left := end.Sub(now)
	text := fmt.Sprintf("%s; the certificate is valid until %s, %d days from now", version, end.Format(time.DateOnly), left/(24*time.Hour))
	if left < renewal {
		return Warn(check, text, "who runs the service has to renew it before")
	}
	return Fine(check, text)
}

func onLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// Credentials is the name of the check of the credentials.
const Credentials = "credentials"

// accepted checks how the service answered the credentials.
func accepted(base, caller string, err error) Finding {
	const check = Credentials
	switch kind := archive.KindOf(err); {
	case err == nil:
		return Fine(check, "the service takes them ("+caller+")")
	case kind == archive.KindUnauthorized, kind == archive.KindForbidden:
		return Fail(check, fmt.Sprintf("the service refuses them (%s): %v", caller, err), Cure(base, err))
	case kind == archive.KindNotFound, kind == archive.KindUnsupported, kind == archive.KindProtocol, kind == archive.KindInvalid, kind == archive.KindForeign:
		return Fail("service", fmt.Sprintf("it does not answer as an archive service does: %v", err), Cure(base, err))
	}
	return Fail("service", fmt.Sprintf("it has a problem of its own: %v", err), "try again later, or ask who runs it")
}

// clock compares the clock of the service with ours. It allows for the time of the answer, and for
// the seconds of its date, which has no fractions.
func clock(a *Answer, now time.Time) Finding {
	const check = "clock"
	if a.Date.IsZero() {
		return Fine(check, "the service does not tell its time")
	}
	off := now.Sub(a.Date).Round(time.Second)
	if off.Abs() <= skew+a.Took {
		return Fine(check, "the same as that of the service")
	}
	way := "ahead of"
	if off < 0 {
		way = "behind"
	}
	return Warn(check, fmt.Sprintf("this machine is %s %s the service", off.Abs(), way),
		"set the clock: timedatectl set-ntp true; a wrong one confuses certificates, --created-after, and what is newer")
}

// Index checks the configuration of updatedb (updatedb.conf(5)), which lists each day, as root, all that
// root can see: an archive only if visible is set.
func Index(conf string, visible bool) Finding {
	const check = "file index"
	b, err := os.ReadFile(conf) //nolint:gosec // of the machine's configuration
	switch {
	case err != nil:
		return Fine(check, "there is no updatedb")
	case pruned.Match(b):
		return Fine(check, "updatedb leaves archives out")
	case !visible:
		return Fine(check, "updatedb cannot look into your mounts")
	}
	return Warn(check, "updatedb lists every document of a mount each day, without downloading any", "add "+Kind+" to PRUNEFS in "+conf)
}

// pruned is a configuration that names our mounts in PRUNEFS.
var pruned = regexp.MustCompile(`(?m)^\s*PRUNEFS\s*=(.*[\s"])?` + regexp.QuoteMeta(Kind) + `(["\s]|$)`)
