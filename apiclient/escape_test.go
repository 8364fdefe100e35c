package apiclient

import (
	"testing"

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
