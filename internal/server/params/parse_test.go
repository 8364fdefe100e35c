package params

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

func TestSplitList(t *testing.T) {
	for _, test := range []struct {
		in   string
		want []string
		err  error
	}{
		{"", nil, nil},
		{",, ,", nil, nil},
		{"a", []string{"a"}, nil},
		{" a , b ,a", []string{"a", "b"}, nil},
		{`a\,b,c`, []string{"a,b", "c"}, nil},
		{`a\\,b`, []string{`a\`, "b"}, nil},
		{`a\=b`, []string{"a=b"}, nil},
		{"ä=ö", []string{"ä=ö"}, nil},
		{`a\`, nil, errEscape},
		{`a\b`, nil, errEscape},
	} {
		got, err := splitList(test.in)
		if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("%q: %q, %v", test.in, got, err)
		}
	}
}

func TestSplitPairs(t *testing.T) {
	kv := func(s ...string) []archive.KeyValue {
		var pairs []archive.KeyValue
		for i := 0; i < len(s); i += 2 {
			pairs = append(pairs, archive.KeyValue{Key: s[i], Value: s[i+1]})
		}
		return pairs
	}
	for _, test := range []struct {
		in   string
		want []archive.KeyValue
		err  error
	}{
		{"", nil, nil},
		{"a=1, b=2", kv("a", "1", "b", "2"), nil},
		{"a=", kv("a", ""), nil},
		{"a=1,a=2", kv("a", "2"), nil},
		{`a\=b=c\,d`, kv("a=b", "c,d"), nil},
		{"a=b=c", kv("a", "b=c"), nil},
		{`a=\\`, kv("a", `\`), nil},
		{"a= x ", kv("a", " x "), nil},
		{"a", nil, errNoAssign},
		{`a\=b`, nil, errNoAssign},
		{" =b", nil, errNoKey},
		{`a=\n`, nil, errEscape},
	} {
		got, err := splitPairs(test.in)
		if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("%q: %q, %v", test.in, got, err)
		}
	}
}

func TestAfterCountsInTheGivenZone(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ in, want string }{
		{"2023-11-22", "2023-11-22T23:00:00Z"},
		{"2023-10-29", "2023-10-29T23:00:00Z"}, // 25 hours long
		{"2023-11-22T14:14:29", "2023-11-22T13:14:30Z"},
		{"2023-11-22T14:14:29Z", "2023-11-22T14:14:30Z"}, // as generated clients write it
		{"2023-11-22T14:14:29.999+02:00", "2023-11-22T12:14:30Z"},
	} {
		p := &Params{Values: url.Values{"d": {test.in}}}
		if got := p.After("d", zone).UTC().Format(time.RFC3339); got != test.want || p.Err() != nil {
			t.Errorf("%s: %s, want %s, %v", test.in, got, test.want, p.Err())
		}
	}
}

var listEscaper = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`)

func FuzzSplitList(f *testing.F) {
	for _, seed := range []string{"", "a,b", `a\,b`, `\`, `a\\,`, " , "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		items, err := splitList(s)
		if err != nil {
			return
		}
		escaped := make([]string, 0, len(items))
		for _, item := range items {
			escaped = append(escaped, listEscaper.Replace(item))
		}
		again, err := splitList(strings.Join(escaped, ","))
		if err != nil || !slices.Equal(again, items) {
			t.Errorf("%q: %q, written and read again %q, %v", s, items, again, err)
		}
	})
}

func FuzzSplitPairs(f *testing.F) {
	for _, seed := range []string{"", "a=b", `a\==b`, "a=b,c", `a=\,`, "a=b=c", "=,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		pairs, err := splitPairs(s)
		if err != nil {
			return
		}
		escaped := make([]string, 0, len(pairs))
		for _, pair := range pairs {
			escaped = append(escaped, listEscaper.Replace(pair.Key)+"="+listEscaper.Replace(pair.Value))
		}
		again, err := splitPairs(strings.Join(escaped, ","))
		if err != nil || !slices.Equal(again, pairs) {
			t.Errorf("%q: %q, written and read again %q, %v", s, pairs, again, err)
		}
	})
}

func FuzzAfter(f *testing.F) {
	for _, seed := range []string{"2023-11-22", "2023-11-22T14:14:29", "", "0000-01-01", "9999-12-31", "2023-02-30"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := &Params{Values: url.Values{"d": {s}}}
		got := p.After("d", time.UTC)
		if p.Err() != nil || s == "" {
			if !got.IsZero() {
				t.Errorf("%q is refused and yet %v", s, got)
			}
			return
		}
		if got.Nanosecond() != 0 || len(s) == len(time.DateOnly) && got.Add(-time.Second).Format(time.DateOnly) != s {
			t.Errorf("%q: %v", s, got)
		}
	})
}
