package apiclient

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

func TestStatusKinds(t *testing.T) {
	for status, kind := range map[int]archive.Kind{
		302: archive.KindForeign, 304: archive.KindProtocol,
		400: archive.KindInvalid, 401: archive.KindUnauthorized, 402: archive.KindProtocol, 403: archive.KindForbidden,
		404: archive.KindNotFound, 405: archive.KindUnsupported, 408: archive.KindInterrupted, 409: archive.KindConflict, 410: archive.KindNotFound,
		406: archive.KindInvalid, 407: archive.KindForeign, 417: archive.KindInvalid, 412: archive.KindConflict, 413: archive.KindTooLarge, 415: archive.KindInvalid, 416: archive.KindInvalid,
		418: archive.KindProtocol, 422: archive.KindInvalid, 429: archive.KindBusy, 500: archive.KindServer,
		501: archive.KindUnsupported, 502: archive.KindForeign, 503: archive.KindBusy, 504: archive.KindForeign, 507: archive.KindServer, 508: archive.KindServer,
		511: archive.KindForeign, 519: archive.KindServer, 520: archive.KindForeign, 530: archive.KindForeign, 531: archive.KindServer,
	} {
		c := newService(t, standing(answer(status, "", "")))
		_, err := c.Inboxes(t.Context())
		wantKind(t, err, OpInboxes, kind)
		if want := "list the inboxes: " + kind.String() + " (HTTP "; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("status %d: error is %q, want %q", status, err, want)
		}
	}
}

func TestDetailOfErrorBodies(t *testing.T) {
	for _, tc := range []struct{ name, body, want string }{
		{"empty", "", ""},
		{"text", " no such\r\n folder ", "no such folder"},
		{
			"problem", `{"type":"about:blank","title":"Bad Request","status":400,"detail":"folder-id: not a number"}`,
			"Bad Request: folder-id: not a number",
		},
		{
			"problem with errors", `{"title":"Bad Request","errors":[{"name":"folder-id","reason":"missing"},"more"]}`,
			"Bad Request: folder-id: missing: more",
		},
		{
			"problem that repeats itself", `{"title":"Too Large","detail":"data: over 1 MiB","field":"data","errors":[{"name":"data","reason":"over 1 MiB"}]}`,
			"Too Large: data: over 1 MiB",
		},
		{
			"problem of two fields", `{"title":"Bad Request","detail":"id: missing; name: odd","errors":[{"name":"id","reason":"missing"},{"name":"name","reason":"odd"}]}`,
			"Bad Request: id: missing; name: odd",
		},
		{"problem with a part of a word", `{"title":"invalid","errors":[{"name":"id","reason":"missing"}]}`, "invalid: id: missing"},
		{"errors by field", `{"message":"invalid","errors":{"name":["too long"],"id":"missing"}}`, "invalid: too long"},
		{"errors by unknown fields", `{"errors":{"folder":["too long","odd"],"doc":"missing"}}`, "doc missing: folder too long, odd"},
		{"message", `{"Message":"no access"}`, "no access"},
		{"error and message", `{"error":"Forbidden","message":"no access"}`, "Forbidden: no access"},
		{"nested error", `{"error":{"code":7,"message":"no access"}}`, "no access"},
		{"string", `"no access"`, "no access"},
		{"unknown object", `{"code":7}`, `{"code":7}`},
		{"broken JSON", `{"message":"no`, `{"message":"no`},
		{"page", `<html><head><title>404</title><style>p{}</style><script>x()</script></head><body><p>not &amp; found</body>`, "404 not & found"},
		{"controls", "a\x1b[31mb\u202ec\xff", `a\x1b[31mb\u202ec\xff`},
		{"secrets", `{"message":"bad key ` + testKey + ` of anna:geheim, Basic YW5uYTpnZWhlaW0="}`, "bad key *** of anna:***, Basic ***"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, answer(http.StatusBadRequest, "", tc.body), func(cfg *Config) {
				cfg.Credentials.User, cfg.Credentials.Password = "anna", "geheim"
			})
			_, err := c.Inboxes(t.Context())
			wantKind(t, err, OpInboxes, archive.KindInvalid)
			want := "list the inboxes: refused as invalid (HTTP 400)"
			if tc.want != "" {
				want += ": " + tc.want
			}
			if err.Error() != want {
				t.Errorf("error is %q, want %q", err, want)
			}
		})
	}
}

func TestDetailIsShort(t *testing.T) {
	long := shorten(strings.Repeat("ü", detailLimit))
	if len(long) > detailLimit || len(long) < detailLimit-4 || !utf8.ValidString(long) {
		t.Errorf("%d bytes, valid %t", len(long), utf8.ValidString(long))
	}
	c := newService(t, answer(http.StatusBadRequest, "", strings.Repeat("\x1b", 1<<20)))
	_, err := c.Inboxes(t.Context())
	if len(err.Error()) > detailLimit+100 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}
