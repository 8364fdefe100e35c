package apiclient

import (
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

func TestEscape(t *testing.T) {
	for _, tc := range []struct {
		items []string
		want  string
	}{
		{nil, ""},
		{[]string{"a"}, "a"},
		{[]string{"a", "b c"}, "a,b c"},
		{[]string{"a,b", `c\d`, "e=f"}, `a\,b,c\\d,e=f`},
		{[]string{"", "a", ""}, "a"},
	} {
		if got := EscapeList(tc.items); got != tc.want {
			t.Errorf("%q is written %q, want %q", tc.items, got, tc.want)
		}
	}
	entries := []archive.KeyValue{{Key: "a=b", Value: "c,d"}, {Key: "", Value: "x"}, {Key: "e", Value: ""}, {Key: `f\`, Value: "g"}}
	if got, want := EscapeMetadata(entries), `a\=b=c\,d,e=,f\\=g`; got != want {
		t.Errorf("metadata are written %q, want %q", got, want)
	}
}

func TestParseDate(t *testing.T) {
	local := time.Date(2017, 10, 17, 5, 3, 25, 0, testZone)
	for text, want := range map[string]time.Time{
		"2017-10-17T05:03:25":                      local,
		"2017-10-17 05:03:25":                      local,
		" 2017-10-17t05:03:25 ":                    local,
		"2017-10-17T05:03:25.250":                  local.Add(250 * time.Millisecond),
		"2017-10-17 05:03:25,5":                    local.Add(500 * time.Millisecond),
		"2017-10-17T03:03:25Z":                     local,
		"2017-10-17T03:03:25.000z":                 local,
		"2017-10-17T05:03:25+02:00":                local,
		"2017-10-17T05:03:25+0200":                 local,
		"2017-10-17T05:03:25+02":                   local,
		"2017-10-17 05:03:25 +02:00":               local,
		"2017-10-17T05:03:25+02:00[Europe/Zurich]": local,
		"2017-10-17T05:03":                         local.Truncate(time.Minute),
		"2017-10-17":                               time.Date(2017, 10, 17, 0, 0, 0, 0, testZone),
		"1508209405000":                            local,
		"1.508209405E12":                           local,
		"0":                                        {},
		"":                                         {},
		"soon":                                     {},
		"2017-13-17":                               {},
		"0001-01-01T00:00:00":                      {},
		"9e99":                                     {},
	} {
		if got := parseDate(text, testZone); !got.Equal(want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
