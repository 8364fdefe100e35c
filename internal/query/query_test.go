package query_test

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/query"
)

func TestParse(t *testing.T) {
	day := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	for text, want := range map[string]query.Query{
		"Rechnung":                   {Search: archive.Search{Text: []string{"Rechnung"}}},
		"  a\tb\u00a0c ":             {Search: archive.Search{Text: []string{"a", "b", "c"}}},
		`"Frau  Muster" x"y z"`:      {Search: archive.Search{Text: []string{`"Frau Muster"`, `"xy z"`}}},
		`a ""`:                       {Search: archive.Search{Text: []string{"a"}}},
		"AW: 12:30 http:x -a":        {Search: archive.Search{Text: []string{"AW:", "12:30", "http:x", "-a"}}},
		`"after:2024" "in":x`:        {Search: archive.Search{Text: []string{`"after:2024"`, `"in:x"`}}},
		"keyword:a Keyword:b,c":      {Search: archive.Search{Keywords: []string{"a", "b,c"}}},
		`keyword:"Frau Muster"`:      {Search: archive.Search{Keywords: []string{"Frau Muster"}}},
		`name:a name:"b c"`:          {Search: archive.Search{Name: []string{"a", "b", "c"}}},
		`note:"call back" note:x`:    {Search: archive.Search{Notes: []string{"call", "back", "x"}}},
		`Stamp:paid stamp:"in part"`: {Search: archive.Search{Stamps: []string{"paid", "in part"}}},
		`type:"a b"`:                 {Search: archive.Search{Type: "a b"}},
		"after:2024-02-29":           {Search: archive.Search{From: day(2024, 2, 29)}},
		"after:2024-02":              {Search: archive.Search{From: day(2024, 2, 1)}},
		"before:2024":                {Search: archive.Search{To: day(2023, 12, 31)}},
		"before:2024-03-01 x":        {Search: archive.Search{To: day(2024, 2, 29), Text: []string{"x"}}},
		`in:"Muster GmbH" in:a:b`:    {In: []string{"Muster GmbH", "a:b"}},
		`x IN:"a"`:                   {Search: archive.Search{Text: []string{"x"}}, In: []string{"a"}},
	} {
		if got, err := query.Parse(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "at least one word",
		` "" `:                    "at least one word",
		"\xff":                    "UTF-8",
		`"a`:                      "double quotes",
		"name:":                   "name: takes a value",
		`in:" "`:                  "in: takes a value",
		"after: 2024":             "after: takes a value",
		"after:yesterday":         `after: takes a date such as 2024-01-31, 2024-01 or 2024, not "yesterday"`,
		"before:2024-02-30":       "before: takes a date",
		"before:0001":             "before: takes a date",
		"after:24-01-01":          "after: takes a date",
		"after:2024 after:2025":   "after: can be given once",
		"before:2024 before:2024": "before: can be given once",
		"type:a type:b":           "type: can be given once",
	} {
		if got, err := query.Parse(text); err == nil || !strings.Contains(err.Error(), want) || !reflect.DeepEqual(got, query.Query{}) {
			t.Errorf("%q: %+v, %v; want %q", text, got, err, want)
		}
	}
}

func TestInvisibleCharactersAreNotPartOfAQuery(t *testing.T) {
	for text, want := range map[string]query.Query{
		"\ufeffQuit\u00adten\u200bbrot\u2060": {Search: archive.Search{Text: []string{"Quittenbrot"}}},
		"a \u200b \u200e":                     {Search: archive.Search{Text: []string{"a"}}},
		"\u200bkeyword:a\u200cb":              {Search: archive.Search{Keywords: []string{"ab"}}},
		"name:\"x\u2066y z\u2069\"":           {Search: archive.Search{Name: []string{"xy", "z"}}},
		"\"Frau\u00ad Mus\u00adter\"":         {Search: archive.Search{Text: []string{`"Frau Muster"`}}},
		"in:a\u200cb":                         {In: []string{"a\u200cb"}},
	} {
		if got, err := query.Parse(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"\u200b", "\"\ufeff\"", "keyword:\u200b"} {
		if got, err := query.Parse(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`Rechnung "Frau Muster" after:2024-01-01 before:2025 keyword:x name:y type:z in:"a b" in:c`)
	f.Add(`a" b:" ""`)
	f.Add("name:\u00a0\"\" \xff")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := query.Parse(text)
		if err != nil {
			if !reflect.DeepEqual(q, query.Query{}) || err.Error() == "" {
				t.Errorf("%q: %+v, %v", text, q, err)
			}
			return
		}
		said := 0
		for _, list := range [][]string{q.Text, q.Name, q.Keywords, q.In} {
			for _, word := range list {
				if strings.Trim(word, `" `) == "" || !utf8.ValidString(word) {
					t.Errorf("%q has the word %q", text, word)
				}
				said++
			}
		}
		if said == 0 && q.Type == "" && q.From.IsZero() && q.To.IsZero() || q.Folder != 0 {
			t.Errorf("%q asks for everything: %+v", text, q)
		}
	})
}
