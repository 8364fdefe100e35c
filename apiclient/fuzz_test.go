package apiclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// readWhole decodes body as an operation does.
func readWhole(body []byte, decode func(*jsonReader) error) error {
	r, err := newJSONReader(bytes.NewReader(body))
	if err == nil {
		err = decode(r)
	}
	if err == nil {
		err = r.end()
	}
	return err
}

// wantSound fails the test when broken JSON was taken, or is said to break outside.
func wantSound(t *testing.T, body []byte, err error) {
	t.Helper()
	if err == nil && !json.Valid(trimBOM(body)) {
		t.Errorf("broken JSON is taken: %q", body)
	}
	if at, ok := errors.AsType[*offsetError](err); ok && (at.offset < 0 || at.offset > int64(len(body))+1) {
		t.Errorf("breaks at byte %d of %d: %q", at.offset, len(body), body)
	}
}

func FuzzDocumentList(f *testing.F) {
	f.Add([]byte(`[{"id":1,"name":"a","keywords":["x"],"external-metadata":[{"key":"k","value":1}]},{"id":"2","content-length":-1}]`))
	f.Add([]byte(`[{"id":1,"keywords":"a\\,b","external-metadata":{"k":[1]},"creation-date":1}] x`))
	f.Add([]byte("\ufeffnull"))
	f.Fuzz(func(t *testing.T, body []byte) {
		list := documentList{location: time.UTC, take: func(d *archive.Document) {
			if d.ID == 0 || d.Size < archive.SizeUnknown || d.Pages < 0 {
				t.Errorf("%q gives %+v", body, d)
			}
		}}
		wantSound(t, body, readWhole(body, list.read))
	})
}

func FuzzStructure(f *testing.F) {
	f.Add([]byte(`{"free-archive-structure":false,"folders":[{"id":1,"name":"a","folders":{"id":2}},null]}`), true)
	f.Add([]byte(`[{"folders":[[{}]],"id":"1"}]`), false)
	f.Add([]byte(`{"id":1,"folders":null}`), false)
	f.Fuzz(func(t *testing.T, body []byte, lazy bool) {
		var s archive.Structure
		err := readWhole(body, func(r *jsonReader) (err error) {
			folders := folderReader{jsonReader: r, lazy: lazy}
			s, err = folders.structure()
			return err
		})
		wantSound(t, body, err)
		var check func([]archive.Folder, int)
		check = func(folders []archive.Folder, depth int) {
			for _, folder := range folders {
				known := !lazy || len(folder.Children) > 0
				if folder.ID == 0 || depth > deepestFolder || folder.ChildrenKnown != known {
					t.Errorf("%q gives %+v at depth %d", body, folder, depth)
				}
				check(folder.Children, depth+1)
			}
		}
		check(s.Folders, 1)
	})
}

func FuzzInboxes(f *testing.F) {
	f.Add([]byte(`{"free-inbox-structure":true,"inboxes":[{"user-id":1,"folder":{"id":1,"folders":[]}}],"folders":null}`))
	f.Add([]byte(`[{"id":1},{"folder":[{"id":2}]}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var inboxes archive.Inboxes
		err := readWhole(body, func(r *jsonReader) (err error) {
			reader := inboxReader{folderReader{jsonReader: r}}
			inboxes, err = reader.inboxes()
			return err
		})
		wantSound(t, body, err)
		for _, inbox := range inboxes.Inboxes {
			if inbox.Folder.ID == 0 {
				t.Errorf("%q gives %+v", body, inbox)
			}
		}
	})
}

func FuzzData(f *testing.F) {
	f.Add([]byte(`{"id":1,"pages":[{"id":1,"notes":{"text":"a"},"stamps":[null]}],"external":{"metadata":{"b":1,"a":2}},"workflows":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var wire list[dataWire]
		err := decodeWhole(OpDocumentData, body, &wire)
		if (err == nil) != json.Valid(body) {
			t.Errorf("%q: %v", body, err)
		}
		for i := range wire {
			data := wire[i].data(time.UTC)
			if !slices.IsSortedFunc(data.Metadata, func(a, b archive.KeyValue) int { return strings.Compare(a.Key, b.Key) }) {
				t.Errorf("%q gives metadata %v", body, data.Metadata)
			}
		}
	})
}

func FuzzIDAnswer(f *testing.F) {
	for _, body := range []string{"17", `"17"`, `{"id":17}`, `{"document-id":"17"}`, `[17]`, `[{"id":17}]`, "OK", "\ufeff17\n", `[[]]`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := parseIDAnswer(body)
		id := answer.id()
		if id < 0 || err != nil && id != 0 {
			t.Errorf("%q gives %d, %v", body, id, err)
		}
	})
}

func FuzzDate(f *testing.F) {
	for _, text := range []string{"2017-10-17T05:03:25.5+02:00", "2017-10-17 05:03:25", "2017-10-17", "1508209405000", "1e300", "[", "9999-12-31T23:59:59-23:00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		date := parseDate(text, time.UTC)
		if date.IsZero() {
			return
		}
		if again := parseDate(date.Format(time.RFC3339Nano), time.UTC); !again.Equal(date) {
			t.Errorf("%q is %v, and written again %v", text, date, again)
		}
	})
}

func FuzzEscapeRoundTrip(f *testing.F) {
	f.Add("a", "b,c")
	f.Add(`\`, `\,=`)
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.TrimSpace(a), strings.TrimSpace(b)
		want := slices.DeleteFunc([]string{a, b}, func(s string) bool { return s == "" })
		if got := splitList(EscapeList([]string{a, b})); !slices.Equal(got, want) {
			t.Errorf("%q comes back as %q", want, got)
		}
		if a == "" {
			return
		}
		written := EscapeMetadata([]archive.KeyValue{{Key: a, Value: b}, {Key: b, Value: a}})
		if strings.Count(strings.NewReplacer(`\\`, "", `\=`, "", `\,`, "").Replace(written), "=") != len(want) {
			t.Errorf("%q has no clear parts", written)
		}
	})
}

func FuzzErrorBody(f *testing.F) {
	f.Add([]byte(`{"title":"a","detail":"b","errors":[{"name":"c","reason":"d"}]}`))
	f.Add([]byte(`<html><style>x</style><p>a &amp; b`))
	f.Add([]byte("\x1b[31m\u202e"))
	f.Add([]byte(`{"a":{"a":{"a":{"a":{"a":{"a":"x"}}}}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		text := shorten(archive.Printable(explain(body)))
		if len(text) > detailLimit || !utf8.ValidString(text) || archive.Printable(text) != text {
			t.Errorf("%q gives %q", body, text)
		}
	})
}

func FuzzContentRange(f *testing.F) {
	f.Add("bytes 5-9/10")
	f.Add("bytes 0-0/*")
	f.Fuzz(func(t *testing.T, field string) {
		part, err := parseContentRange(field)
		if err == nil && (part.first < 0 || part.last < part.first || part.total != archive.SizeUnknown && part.total <= part.last) {
			t.Errorf("%q gives %+v", field, part)
		}
	})
}
