package text_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/archivefs/archivefs/internal/server/text"
)

func TestDecode(t *testing.T) {
	for _, test := range []struct{ data, charset, want string }{
		{"", "", ""},
		{"Grüße", "", "Grüße"},
		{"Grüße", "iso-8859-1", "Grüße"}, // valid UTF-8 is UTF-8, whatever the charset says
		{"\xef\xbb\xbfGrüße", "", "Grüße"},
		{"Gr\xfc\xdfe \x80", "", "Grüße €"},
		{"Gr\xfc\xdfe", "utf-8", "Grüße"},
		{"\xc0\xe1\xe2", "windows-1251", "Абв"},
		{"\x93\xfa\x96\x7b", "shift_jis", "日本"},
		{"\x1b$BF|K\\\x1b(B", "iso-2022-jp", "日本"},
		{"\xff\xfeG\x00\xfc\x00", "", "Gü"},
		{"\xfe\xff\x00G\x00\xfc", "", "Gü"},
		{"G\x00\xfc\x00", "utf-16le", "Gü"},
		{"x\xfc", "no such thing", "xü"},
		{"x\x81", "ibm850", "xü"},
		{"~{VPND~}", "hz-gb-2312", "中文"},
		{"Müller, Bäcker \xfc", "utf-8", "Müller, Bäcker ü"}, // only the last is not UTF-8
		{"caf\xe9", "", "café"},
	} {
		if got := text.Decode([]byte(test.data), test.charset); got != test.want {
			t.Errorf("%q in %q is %q, want %q", test.data, test.charset, got, test.want)
		}
	}
}

func TestWide(t *testing.T) {
	long := strings.Repeat("Eine Straßenbahn – für 17 € am Tag – 😀\r\n", 500)
	for content, want := range map[string]bool{
		"Test": true, "Grüße aus Łódź,\r\n\t„Quitte“ 17 €": true, "Привет, мир": true, "Αθήνα 2024": true, "שלום עולם": true, "a\tb\f1\n": true, long: true,
		"": false, "abc": false, "Привет": false, "a\x00bcdef": false, "ab\x01cdef": false, "ab\u0080cdef": false, "日本語のテキスト です": false, "\u0102\u0203\u0301\u0402\u0503 abcdef": false,
	} {
		for charset, order := range map[string]binary.AppendByteOrder{"utf-16le": binary.LittleEndian, "utf-16be": binary.BigEndian} {
			var data []byte
			for _, c := range utf16.Encode([]rune(content)) {
				data = order.AppendUint16(data, c)
			}
			got := text.Wide(data)
			if want && got != charset || !want && got != "" {
				t.Errorf("%.40q in %s is %q", content, charset, got)
			}
			if want && text.Decode(data, "") != content {
				t.Errorf("%.40q in %s becomes %.40q", content, charset, text.Decode(data, ""))
			}
			if text.Wide([]byte(content)) != "" {
				t.Errorf("%.40q in UTF-8 is wide", content)
			}
		}
	}
	noise := rand.NewChaCha8([32]byte{})
	for size := range 4000 { // bytes of any value, small ones, and small numbers
		data := make([]byte, 100+size%64)
		_, _ = noise.Read(data)
		for i := range data {
			switch size % 3 {
			case 1:
				data[i] %= 7
			case 2:
				data[i] *= byte(i % 2)
			}
		}
		if got := text.Wide(data); got != "" {
			t.Errorf("%x is %s", data, got)
		}
	}
}

func TestBeginning(t *testing.T) {
	for data, want := range map[string]string{
		"": "", "Gr": "Gr", "Grü": "Grü", "Gr\xc3": "Gr", "\xe2\x82": "", "x\xf0\x9f\x98": "x", "x\xff": "x\xff", "\x80\x80\x80\x80": "\x80\x80\x80\x80",
	} {
		if got := text.Beginning([]byte(data)); string(got) != want {
			t.Errorf("%q becomes %q, want %q", data, got, want)
		}
	}
}

func rows(pages []text.Page) (all [][]string) {
	for _, p := range pages {
		all = append(all, p.Rows)
	}
	return all
}

func TestPages(t *testing.T) {
	word := strings.Repeat("x", 50)
	long := strings.Repeat("y", text.Columns+4)
	full := strings.Repeat("line\n", text.Rows)
	lines := slices.Repeat([]string{"line"}, text.Rows)
	for name, test := range map[string]struct {
		text    string
		rows    [][]string
		sources []string
	}{
		"nothing":           {"", [][]string{nil}, []string{""}},
		"a line":            {"a", [][]string{{"a"}}, []string{"a"}},
		"an end":            {"a\n", [][]string{{"a"}}, []string{"a\n"}},
		"lines":             {"a\r\n\r\nb\rc", [][]string{{"a", "", "b\ufffdc"}}, []string{"a\r\n\r\nb\rc"}},
		"tabs":              {"a\tb\t\tc", [][]string{{"a       b               c"}}, []string{"a\tb\t\tc"}},
		"cannot be shown":   {"a\x00\x7f\xff\u0085", [][]string{{"a\ufffd\ufffd\ufffd\ufffd"}}, []string{"a\x00\x7f\xff\u0085"}},
		"words":             {word + " " + word + " " + word, [][]string{{word, word, word}}, []string{word + " " + word + " " + word}},
		"a long word":       {long, [][]string{{long[:text.Columns], "yyyy"}}, []string{long}},
		"a blank that fits": {long[:text.Columns] + " z", [][]string{{long[:text.Columns], "z"}}, []string{long[:text.Columns] + " z"}},
		"form feeds":        {"a\fb\n\f\fc\f", [][]string{{"a"}, {"b"}, nil, {"c"}}, []string{"a", "b\n", "", "c"}},
		"a full page":       {full, [][]string{lines}, []string{full}},
		"more":              {full + "z", [][]string{lines, {"z"}}, []string{full, "z"}},
		"full and fed":      {full + "\fz", [][]string{lines, {"z"}}, []string{full, "z"}},
		"full and fed more": {full + "\f\fz", [][]string{lines, nil, {"z"}}, []string{full, "", "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			pages := text.Pages(test.text)
			if got := rows(pages); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.rows) {
				t.Errorf("rows %q, want %q", got, test.rows)
			}
			for i, p := range pages {
				if i >= len(test.sources) || p.Source != test.sources[i] {
					t.Errorf("page %d is of %q", i, p.Source)
				}
			}
		})
	}
	if pages := text.Pages(strings.Repeat("\f", 1<<20)); pages != nil {
		t.Errorf("%d pages", len(pages))
	}
}

func TestHTML(t *testing.T) {
	for _, test := range []struct{ page, want string }{
		{"", ""},
		{"no HTML at all", "no HTML at all\n"},
		{"<html><head><title>t</title><style>p{}</style></head><body><p>Gr&uuml;&szlig;e,\n  <b>Eve</b>!</p><p>x</body>", "Grüße, Eve!\n\nx\n"},
		{"a<br>b<br/>c<br><br><br><br>d", "a\nb\nc\n\nd\n"},
		{"<ul><li>one<li>two</ul>end", "* one\n* two\n\nend\n"},
		{"<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 2\n3\n"},
		{"<script>alert('<b>')</script>x<noscript>y</noscript>z", "xz\n"},
		{"a<!-- b -->c<img src='cid:1' alt=logo>", "aclogo\n"},
		{"</script></p>x<p", "x\n"},
		{"<head><title>t</title><body>x", "x\n"},
	} {
		if got, _ := text.HTML(test.page); got != test.want {
			t.Errorf("%q says %q, want %q", test.page, got, test.want)
		}
	}
	for page, want := range map[string]string{
		"<head><title>\n Gr&uuml;&szlig;e\tan\nEve</title><script>no</script></head><body>x<svg><title>y</title></svg>": "Grüße an Eve\n", "<title>no</title>x": "", "<head><title></title>x": "",
		"<head><title>no end": "no end\n", "<head><title>a</title><style>no</style><title>b": "a b\n",
	} {
		if got, _, _ := text.Titled(page); got != want {
			t.Errorf("%q has the title %q, want %q", page, got, want)
		}
	}
	if _, got := text.HTML(`<IMG SRC="cid:a@b"><img><img src='x.png'>`); !slices.Equal(got, []string{"cid:a@b", "", "x.png"}) {
		t.Errorf("pictures %q", got)
	}
}

// FuzzPages lays anything out: nothing is lost, and nothing is too long.
func FuzzPages(f *testing.F) {
	f.Add("a\tb\f\n\n" + strings.Repeat("word ", 40))
	f.Add(strings.Repeat("ä", 200) + "\f\f" + strings.Repeat("\n", 70))
	f.Fuzz(func(t *testing.T, content string) {
		var sources strings.Builder
		for _, p := range text.Pages(content) {
			sources.WriteString(p.Source)
			if len(p.Rows) > text.Rows {
				t.Errorf("%d rows", len(p.Rows))
			}
			for _, row := range p.Rows {
				if utf8.RuneCountInString(row) > text.Columns {
					t.Errorf("a row of %d: %q", utf8.RuneCountInString(row), row)
				}
			}
		}
		if got, want := strings.ReplaceAll(sources.String(), "\f", ""), strings.ReplaceAll(content, "\f", ""); got != want {
			t.Errorf("%q is not %q", got, want)
		}
	})
}

// FuzzPlainLines checks that the fast path for plain lines changes nothing: a tab at the end avoids it.
func FuzzPlainLines(f *testing.F) {
	f.Add("a line")
	f.Add("Gr\u00fc\u00dfe \u0085 \xff\r")
	f.Fuzz(func(t *testing.T, line string) {
		line = strings.NewReplacer("\n", "", "\f", "", "\r", "").Replace(line)
		if got, want := text.Pages(line+"\nend"), text.Pages(line+"\t\nend"); fmt.Sprintf("%q", rows(got)) != fmt.Sprintf("%q", rows(want)) && len(line) < text.Columns-8 {
			t.Errorf("%q, want %q", rows(got), rows(want))
		}
	})
}

// FuzzDecode makes UTF-8 of anything, and text of that as HTML.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("Gr\xfc\xdfe"), "utf-8")
	f.Add([]byte("\xff\xfe<p>x</p"), "utf-16")
	f.Fuzz(func(t *testing.T, content []byte, charset string) {
		decoded := text.Decode(content, charset)
		if said, _ := text.HTML(decoded); !utf8.ValidString(decoded) || !utf8.ValidString(said) {
			t.Errorf("%q says %q", decoded, said)
		}
	})
}
