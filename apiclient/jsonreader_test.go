package apiclient

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// listOf reads a list of documents from source.
func listOf(source io.Reader) (*documentList, error) {
	list := &documentList{location: time.UTC, take: func(*archive.Document) {}}
	r, err := newJSONReader(source)
	if err == nil {
		err = list.read(r)
	}
	if err == nil {
		err = r.end()
	}
	return list, err
}

// However a list arrives, it holds the same documents, or breaks at the same byte.
func TestListIsTheSameHoweverItArrives(t *testing.T) {
	var usual []string
	for i := range 700 {
		usual = append(usual, fmt.Sprintf(
			`{"id":%d,"name":"a%d \u00fc","keywords":["x"],"external-metadata":[{"Key":"k","VALUE":1}],"creation-date":"2024-02-28T23:59:59"}`, i+1, i))
	}
	large := fmt.Sprintf(`{"id":5,"name":"large","unknown":%q}`, strings.Repeat("x", 100<<10))
	for name, tc := range map[string]struct {
		text      string
		documents int
		skipped   int
		err       string
	}{
		"usual":                  {"[" + strings.Join(usual, " , ") + "]", 700, 0, ""},
		"a large one":            {"[" + usual[0] + "," + large + "," + usual[1] + "]", 3, 0, ""},
		"some are no documents":  {"[" + usual[0] + ",7," + usual[1] + ",null,[{}]]", 2, 3, ""},
		"a trailing comma":       {`[{"id":1},]`, 1, 0, "byte 10: "},
		"a missing comma":        {`[{"id":1}{"id":2}]`, 1, 0, "byte 10: "},
		"an end":                 {`[{"id":1},{"id"`, 1, 0, "byte 15: unexpected EOF"},
		"a broken escape":        {`[{"id":1},{"id":2,"name":"\x"},{"id":3}]`, 1, 0, "broken JSON at byte 2"},
		"empty":                  {"[ ]", 0, 0, ""},
		"names in another case":  {`[{"ID":1,"NAME":"a"}]`, 1, 0, ""},
		"an escape in a name":    {`[{"\u0069d":1}]`, 1, 0, ""},
		"bytes that are no text": {"[{\"id\":1,\"name\":\"\xff\"}]", 1, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for how, source := range map[string]io.Reader{
				"at once":             strings.NewReader(tc.text),
				"byte by byte":        iotest.OneByteReader(strings.NewReader(tc.text)),
				"the end with a byte": iotest.DataErrReader(strings.NewReader(tc.text)),
			} {
				got, err := listOf(source)
				if got.taken != tc.documents || err == nil && got.skipped != tc.skipped {
					t.Errorf("%s: %d documents and %d left out, want %d and %d", how, got.taken, got.skipped, tc.documents, tc.skipped)
				}
				if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: error %v, want %q", how, err, tc.err)
				}
			}
		})
	}
}

// An error of the connection is told, and not taken for the end of the list.
func TestListTellsThatTheConnectionBroke(t *testing.T) {
	broken := errors.New("broken")
	source := io.MultiReader(strings.NewReader(`[{"id":1},{"id":2`), iotest.ErrReader(broken))
	if _, err := listOf(source); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// A list of documents costs few allocations for each: its texts, numbers among them.
func TestDocumentListAllocates(t *testing.T) {
	const documents = 1000
	var list strings.Builder
	list.WriteByte('[')
	for i := range documents {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"id":%d,"name":"Rechnung %d.pdf","num-pages":3,"creation-date":"2023-11-22T14:14:29","archiving-date":"2023-11-22T14:14:29",`+
			`"folder-id":7,"keywords":[],"external-metadata":[],"content-length":%d,"content-type":"application/pdf"}`, i+1, i, i*100)
	}
	list.WriteByte(']')
	allocs := testing.AllocsPerRun(5, func() {
		if got, err := listOf(strings.NewReader(list.String())); err != nil || got.taken != documents {
			t.Fatal(err)
		}
	})
	if each := allocs / documents; each > 8 {
		t.Errorf("%.1f allocations for each document", each)
	}
}
