package render_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/server/render"
)

func TestText(t *testing.T) {
	for name, test := range map[string]struct {
		typ, content, want string
		known              bool
	}{
		"text":        {"text/plain; charset=utf-8", "Grüße\n", "Grüße\n", true},
		"empty":       {"text/plain", "", "", true},
		"pages":       {"text/plain", "a\fb\f", "a\fb", true},
		"NUL":         {"text/plain", "a\x00b", "a\ufffdb", true},
		"another set": {"text/plain; charset=iso-8859-1", "Gr\xfc\xdfe", "Grüße", true},
		"HTML":        {"text/html; charset=utf-8", "<p>Grüße<p>Eve", "Grüße\n\nEve\n", true},
		"JSON":        {"application/json", `{"a":1}`, `{"a":1}`, true},
		"XML":         {"application/xml", "<a>b</a>", "<a>b</a>", true},
		"e-mail":      {"message/rfc822", "From: a@example.org\r\n\r\nHello", "From: a@example.org\n\nHello", true},
		"large":       {"text/plain", strings.Repeat("x\f", 1<<20), strings.Repeat("x\n", 1<<20), true},
		"picture":     {"image/png", "\x89PNG", "", false},
		"something":   {"application/octet-stream", "\x00", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			source := render.Source{Content: strings.NewReader(test.content), Size: int64(len(test.content)), ContentType: test.typ}
			got, err := render.Text(t.Context(), source)
			if err != nil || string(got) != test.want || (got != nil) != test.known {
				t.Errorf("%.100q, %v; want %.100q", got, err, test.want)
			}
		})
	}
	for _, typ := range []string{"application/vnd.oasis.opendocument.text", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"} {
		source := render.Source{Content: strings.NewReader("PK\x03\x04"), Size: 4, ContentType: typ}
		if got, err := render.Text(t.Context(), source); !errors.Is(err, engine.ErrUnreadable) {
			t.Errorf("%s: %q, %v", typ, got, err)
		}
	}
	for _, typ := range []string{"text/plain", "message/rfc822", "application/vnd.oasis.opendocument.text", "application/pdf"} {
		source := render.Source{Content: iotest.ErrReader(iotest.ErrTimeout), Size: 100, ContentType: typ}
		if got, err := render.Text(t.Context(), source); err == nil {
			t.Errorf("%s: %q without an error", typ, got)
		}
	}
}
