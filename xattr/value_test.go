package xattr_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/xattr"
)

func TestParseBool(t *testing.T) {
	tests := map[string]struct {
		want bool
		err  error
	}{
		"true": {true, nil}, "false": {false, nil}, "true\n": {true, nil}, "false\x00": {false, nil}, "true\n\x00": {true, nil},
		"": {false, xattr.ErrValue}, "maybe": {false, xattr.ErrValue}, "True": {false, xattr.ErrValue}, "1": {false, xattr.ErrValue},
		" true": {false, xattr.ErrValue}, "true\n\n": {false, xattr.ErrValue},
	}
	for in, tt := range tests {
		if got, err := xattr.ParseBool([]byte(in)); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%q: got %v, %v; want %v, %v", in, got, err, tt.want, tt.err)
		}
	}
	for _, b := range []bool{true, false} {
		if got, err := xattr.ParseBool([]byte(archive.FlagOf(b).String())); got != b || err != nil {
			t.Errorf("%v became %v, %v", b, got, err)
		}
	}
}

func TestParseText(t *testing.T) {
	tests := map[string]struct {
		in, want string
		err      error
	}{
		"text":         {"Müller & Söhne", "Müller & Söhne", nil},
		"empty":        {"", "", nil},
		"newline":      {"a\nb\n", "a\nb", nil},
		"two newlines": {"a\n\n", "a\n", nil},
		"C string":     {"a\x00", "a", nil},
		"NUL":          {"a\x00b", "", xattr.ErrValue},
		"no UTF-8":     {"a\xff", "", xattr.ErrValue},
		"longest":      {strings.Repeat("a", xattr.MaxValue), strings.Repeat("a", xattr.MaxValue), nil},
		"too long":     {strings.Repeat("a", xattr.MaxValue+1), "", xattr.ErrTooBig},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := xattr.ParseText([]byte(tt.in)); got != tt.want || !errors.Is(err, tt.err) {
				t.Fatalf("got %.40q, %v; want %.40q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestParseKeywords(t *testing.T) {
	tests := map[string]struct {
		want []string
		err  error
	}{
		"":                                    {nil, nil},
		"a":                                   {[]string{"a"}, nil},
		"a,b":                                 {[]string{"a", "b"}, nil},
		" two words ,\tb\n":                   {[]string{"two words", "b"}, nil},
		",a,, ,b,":                            {[]string{"a", "b"}, nil},
		`Müller\, Meier,b`:                    {[]string{"Müller, Meier", "b"}, nil},
		`C:\\temp,\\\,`:                       {[]string{`C:\temp`, `\,`}, nil},
		`a\`:                                  {nil, xattr.ErrValue},
		`a\b`:                                 {nil, xattr.ErrValue},
		"a\x00,b":                             {nil, xattr.ErrValue},
		strings.Repeat(",", 1+xattr.MaxValue): {nil, xattr.ErrTooBig},
	}
	for in, tt := range tests {
		got, err := xattr.ParseKeywords([]byte(in))
		if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%.40q: got %q, %v; want %q, %v", in, got, err, tt.want, tt.err)
		}
	}
}

func TestFormatKeywords(t *testing.T) {
	got := string(xattr.FormatKeywords([]string{"a, b", " ", `c\d`, "", " e "}))
	if want := `a\, b,c\\d,e`; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestFormatTime(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	got := string(xattr.FormatTime(time.Date(2023, 11, 22, 14, 14, 29, 5e8, zone)))
	if want := "2023-11-22T14:14:29+01:00"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, value string
		err         error
	}{
		{"auto-export", "true", nil},
		{"auto-export", "maybe", xattr.ErrValue},
		{"upload.force-new-document", "yes", xattr.ErrValue},
		{"auto-export", "", xattr.ErrValue},
		{"upload.force-new-document", "", xattr.ErrValue},
		{"force-new-document", "\n", xattr.ErrValue},
		{"force-new-document", "\xff", xattr.ErrValue},
		{"retry", "", xattr.ErrValue},
		{"email-import-order", "EMAIL_ONLY\n", nil},
		{"email-import-order", "", xattr.ErrValue},
		{"upload.email-import-order", "\n", xattr.ErrValue},
		{"external-id", "", nil},
		{"document-types", "", nil},
		{"upload.email-import-order", "email_only", xattr.ErrValue},
		{"document-types", "Rechnung,Beleg", nil},
		{"keywords", `a\`, xattr.ErrValue},
		{"upload.metadata.k", "any text", nil},
		{"metadata.k", "\xff", xattr.ErrValue},
		{"external-id", strings.Repeat("x", xattr.MaxValue+1), xattr.ErrTooBig},
	}
	for _, tt := range tests {
		a, err := xattr.Parse(xattr.Prefix + tt.name)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Check([]byte(tt.value)); !errors.Is(err, tt.err) {
			t.Errorf("%s = %.20q: got %v, want %v", tt.name, tt.value, err, tt.err)
		}
	}
}

func TestDraftKeepsWhatItHasWhereAValueIsNone(t *testing.T) {
	a := archive.Attributes{EmailImportOrder: archive.EmailOnly, ForceNew: archive.FlagTrue, Keywords: []string{"a"}}
	draft, order := xattr.Draft{Attributes: &a}, known(t, "email-import-order")
	for name, bad := range map[string]string{"email-import-order": "a\x00b", "force-new-document": "yes", "keywords": `\`} {
		if err := draft.Set(known(t, name), []byte(bad)); !errors.Is(err, xattr.ErrValue) {
			t.Errorf("%s: got %v, want ErrValue", name, err)
		}
	}
	if err := draft.Set(order, []byte("RANDOM")); !errors.Is(err, xattr.ErrValue) || a.EmailImportOrder != archive.EmailOnly || a.ForceNew != archive.FlagTrue || len(a.Keywords) != 1 {
		t.Fatalf("got %v, %+v", err, a)
	}
	if err := draft.Set(order, []byte("ATTACHMENTS_THEN_EMAIL")); err != nil || a.EmailImportOrder != archive.AttachmentsThenEmail {
		t.Fatalf("got %v, %+v", err, a)
	}
	for _, name := range []string{"email-import-order", "force-new-document", "keywords"} {
		if err := draft.Set(known(t, name), nil); err != nil {
			t.Error(err)
		}
	}
	if got := (xattr.Subject{Draft: draft}).Values(); len(got) != 0 {
		t.Fatalf("removed, but there: %v", got)
	}
}

func FuzzKeywords(f *testing.F) {
	for _, s := range []string{"a,b", `a\,b,\\`, " ,x\n", `\`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		words, err := xattr.ParseKeywords(v)
		if err == nil {
			again, err := xattr.ParseKeywords(xattr.FormatKeywords(words))
			if err != nil || !slices.Equal(again, words) {
				t.Fatalf("%q is %q, then %q, %v", v, words, again, err)
			}
		}
		word := strings.TrimSpace(string(v))
		if word == "" || !utf8.ValidString(word) || strings.ContainsRune(word, 0) || len(word) > 1000 {
			return
		}
		got, err := xattr.ParseKeywords(xattr.FormatKeywords([]string{word, word}))
		if err != nil || !slices.Equal(got, []string{word, word}) {
			t.Fatalf("twice %q became %q, %v", word, got, err)
		}
	})
}
