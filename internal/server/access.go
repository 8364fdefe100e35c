package server

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/stall"
)

const (
	// maxLogged is how many bytes of a form are logged.
	maxLogged = 512
	// headerID carries the id of a request, in both directions.
	headerID = "X-Request-Id"
	// maxID is the longest id that a client may send.
	maxID = 128
)

// Request is an answered request.
type Request struct {
	ID     string // as sent in X-Request-Id
	Method string
	Path   string
	Query  url.Values
	User   string // empty without a user
	Tenant int64  // 0 without credentials
	Key    int64  // the number of the API key, 0 for that of the options and for an unknown one
	// Reason is why the request was refused, in a word: the reason of 401 or 403, else the end of
	// the problem's type. Empty if it was not refused.
	Reason string
	Remote string // address of the client, or of the last proxy
	// Form holds the form fields of the body, without files.
	Form     url.Values
	Status   int
	Received int64 // bytes of the request's body
	Bytes    int64 // of the answer's body
	Duration time.Duration
}

// logged gives a request its id, counts it, watches its pace, logs it and calls OnRequest. Headers,
// which have the credentials, and bodies other than form fields are never logged.
func (f *front) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		began := time.Now()
		w := &response{ResponseWriter: plain, id: requestID(r), progress: stall.New(plain, r, f.stall)}
		w.Header().Set(headerID, w.id)
		if len(r.TransferEncoding) > 0 {
			// The request may also have had a Content-Length (RFC 9112, section 6.1), which net/http
			// hides. A proxy that uses that length would take the rest for another request.
			w.Header().Set("Connection", "close")
		}
		var body *inbound
		if r.Body != nil && r.Body != http.NoBody {
			// net/http checks the body of its own request to learn whether the client was told to
			// send it.
			body = &inbound{ReadCloser: r.Body, w: w}
			own := *r
			own.Body = body
			r = &own
		}
		f.counters.begin()
		defer func() {
			f.counters.end(w, time.Since(began))
			f.note(w, r, began)
			w.finish(body == nil || body.ended)
		}()
		next.ServeHTTP(w, r)
	})
}

// note logs a request.
func (f *front) note(w *response, r *http.Request, began time.Time) {
	if f.onRequest == nil && !enabled(f.log, logrus.InfoLevel) {
		return
	}
	done := Request{
		ID: w.id, Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Form: w.form, User: w.who.user, Tenant: int64(w.who.tenant), Key: w.who.key, Remote: r.RemoteAddr,
		Reason: cmp.Or(string(w.denied), w.refused),
		Status: w.status, Received: w.received, Bytes: w.bytes, Duration: time.Since(began),
	}
	f.log.WithFields(line(done)).Info("request")
	if f.onRequest != nil {
		f.onRequest(done)
	}
}

// enabled reports whether a log writes entries of a level; true if the log cannot tell.
func enabled(log logrus.FieldLogger, level logrus.Level) bool {
	asked, ok := log.(interface{ IsLevelEnabled(logrus.Level) bool })
	return !ok || asked.IsLevelEnabled(level)
}

// requestID is the id that a client, or a proxy, gave the request, or a new one.
func requestID(r *http.Request) string {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	given := r.Header.Get(headerID)
	if given == "" || len(given) > maxID || strings.Trim(given, allowed) != "" {
		return rand.Text()
	}
	return given
}

// amountOfTime is a number of seconds, printed without an exponent.
type amountOfTime float64

func seconds(d time.Duration) amountOfTime { return amountOfTime(d.Seconds()) }

// String implements fmt.Stringer.
func (a amountOfTime) String() string { return strconv.FormatFloat(float64(a), 'f', -1, 64) }

// line is the log entry of a request.
func line(r Request) logrus.Fields {
	l := logrus.Fields{
		"id": r.ID, "method": r.Method, "path": decoded(r), "status": r.Status, "received": r.Received, "sent": r.Bytes,
		"seconds": seconds(r.Duration.Round(time.Microsecond)), "remote": r.Remote,
	}
	if r.Tenant != 0 {
		l["tenant"] = r.Tenant
	}
	if r.Key != 0 {
		l["key"] = r.Key
	}
	if r.Reason != "" {
		l["reason"] = r.Reason
	}
	if r.User != "" {
		l["user"] = archive.Printable(r.User)
	}
	if len(r.Form) > 0 {
		l["form"] = fields(r.Form)
	}
	return l
}

// decoded is a request's path and query, decoded. Without credentials the query is left out,
// because the client may have put them there.
func decoded(r Request) string {
	path := archive.Printable(shortened(r.Path))
	if len(r.Query) > 0 && r.Status != http.StatusUnauthorized {
		path += "?" + fields(r.Query)
	}
	return path
}

// fields joins parameters by name, decoded, escaped for printing and shortened.
func fields(values url.Values) string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name + "=" + strings.Join(values[name], ","))
		if b.Len() > maxLogged {
			break
		}
	}
	return archive.Printable(shortened(b.String()))
}

func shortened(text string) string {
	if len(text) > maxLogged {
		return text[:maxLogged] + "..."
	}
	return text
}
