// Package doctor checks what a mount needs, and says how to fix what is wrong. Each check is a
// function of its arguments. It changes nothing, and sends only requests that read.
package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// Archive is the operations of a service that can be tried without changing anything.
type Archive interface {
	Children(ctx context.Context, parent archive.ID) (archive.Structure, error)
	Inboxes(ctx context.Context) (archive.Inboxes, error)
	Documents(ctx context.Context, folder archive.ID, options archive.ListOptions) ([]archive.Document, error)
	Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error)
	Metadata(ctx context.Context, doc archive.ID) ([]archive.KeyValue, error)
	Content(ctx context.Context, want archive.ContentRequest) (*archive.Content, error)
	ContentInfo(ctx context.Context, doc archive.ID, as archive.Representation) (*archive.Content, error)
}

// mostLooks bounds how many folders are listed in search of a document.
const mostLooks = 20

// onlySeen is the finding about operations that cannot be tried without changing something.
const onlySeen = "; whether it can rename, replace, delete and set keywords shows when that is tried"

// Operations checks which operations the service has. It uses one document, if there is any.
func Operations(ctx context.Context, a Archive) []Finding {
	const check = "operations"
	inboxes, err := a.Inboxes(ctx)
	if err != nil {
		return []Finding{missing(check, "inboxes", err)}
	}
	doc, found, err := someDocument(ctx, a, inboxes)
	if err != nil {
		return []Finding{missing(check, "documents", err)}
	}
	if !found {
		return []Finding{Fine(check, "folders, inboxes and documents are listed; no document was found to ask about further ones")}
	}
	if _, err = a.Data(ctx, doc); err != nil {
		return []Finding{missing(check, "the data of a document", err)}
	}
	_, noMetadata := a.Metadata(ctx, doc)
	return []Finding{
		Fine(check, "folders, inboxes, documents and their data are there"),
		contents(ctx, a, doc, noMetadata == nil),
	}
}

// missing is the finding that the service lacks an operation that every service has.
func missing(check, what string, err error) Finding {
	return Fail(check, fmt.Sprintf("the service does not answer with %s: %v", what, err), "ask who runs the service")
}

// someDocument finds a document: in an inbox, or in the folders, upper ones first.
func someDocument(ctx context.Context, a Archive, inboxes archive.Inboxes) (archive.ID, bool, error) {
	top, err := a.Children(ctx, 0)
	if err != nil {
		return 0, false, err
	}
	folders := top.Folders
	for _, in := range inboxes.Inboxes {
		folders = append(folders, in.Folder)
	}
	for looks := 0; len(folders) > 0 && looks < mostLooks; looks++ {
		folder := folders[0]
		folders = folders[1:]
		documents, err := a.Documents(ctx, folder.ID, archive.ListOptions{})
		if err != nil {
			return 0, false, err
		}
		if len(documents) > 0 {
			return documents[0].ID, true, nil
		}
		below := archive.Structure{Folders: folder.Children}
		if !folder.ChildrenKnown {
			if below, err = a.Children(ctx, folder.ID); err != nil {
				return 0, false, err
			}
		}
		folders = append(folders, below.Folders...)
	}
	return 0, false, nil
}

// contents checks which representations of a document the service has, and the other operations on it.
func contents(ctx context.Context, a Archive, doc archive.ID, metadata bool) Finding {
	const check = "contents"
	var has, lacks []string
	note := func(name string, there bool) {
		if there {
			has = append(has, name)
		} else {
			lacks = append(lacks, name)
		}
	}
	original, originalSize := representation(ctx, a, doc, archive.Original)
	pdf, pdfSize := representation(ctx, a, doc, archive.PDF)
	note("originals", original)
	note("PDFs", pdf)
	note("lengths without a download", originalSize || pdfSize)
	note("metadata", metadata)
	text := "the service has " + strings.Join(has, ", ")
	if len(has) == 0 {
		text = "the service has the eight operations of its specification alone"
	}
	if len(lacks) > 0 {
		text += "; it lacks " + strings.Join(lacks, ", ")
	}
	if !original && !pdf {
		return Warn(check, text+onlySeen, "files hold the data of documents, as JSON; ask who runs the service for the contents")
	}
	return Fine(check, text+onlySeen)
}

// representation reports whether the service has a representation of a document, and its length.
func representation(ctx context.Context, a Archive, doc archive.ID, as archive.Representation) (there, size bool) {
	if info, err := a.ContentInfo(ctx, doc, as); err == nil {
		return true, info.Size > 0
	}
	content, err := a.Content(ctx, archive.ContentRequest{Document: doc, Representation: as})
	if err != nil {
		return false, false
	}
	_ = content.Body.Close() // nobody reads it
	return true, false
}
