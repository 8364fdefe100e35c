package apiclient

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// tree writes folders as "1 a(2 b(?) 3 c())": a question mark stands for unknown
// children.
func tree(folders []archive.Folder) string {
	var parts []string
	for _, f := range folders {
		inside := tree(f.Children)
		if !f.ChildrenKnown {
			inside += "?"
		}
		parts = append(parts, fmt.Sprintf("%s %s(%s)", f.ID, f.Name, inside))
	}
	return strings.Join(parts, " ")
}

func TestStructureDecodes(t *testing.T) {
	for _, tc := range []struct {
		name, body, complete, lazy string
		closed                     bool // the structure is not free
	}{
		{
			name: "a tree", closed: true, body: `{"free-archive-structure":false,"folders":[{"id":1,"name":"a","folders":[` +
				`{"id":2,"name":"b","folders":[]},{"id":3,"name":"c","folders":null},{"id":4,"name":"d"}]}]}`,
			complete: "1 a(2 b() 3 c() 4 d())", lazy: "1 a(2 b(?) 3 c(?) 4 d(?))",
		},
		{
			name: "other order and unknown members", body: `{"x":[{"folders":[{"id":9}]}],"folders":[{"folders":{"id":2,"name":"b"},"y":{},"name":"a","id":"1"}],"free-archive-structure":"true"}`,
			complete: "1 a(2 b())", lazy: "1 a(2 b(?))",
		},
		{name: "an array alone", body: "\ufeff" + `[{"id":1,"name":"a"}]`, complete: "1 a()", lazy: "1 a(?)"},
		{name: "a folder alone", body: `{"id":1,"name":"a","folders":[{"id":2,"name":"b"}]}`, complete: "1 a(2 b())", lazy: "1 a(2 b(?))"},
		{
			name: "folders without an id", body: `{"folders":[{"name":"x"},null,7,[[]],{"id":""},{"id":1,"name":"a"}]}`,
			complete: "1 a()", lazy: "1 a(?)",
		},
		{name: "ids that are not positive", body: `{"folders":[{"id":0,"name":"a","folders":[{"id":-1,"name":"b"}]}]}`, complete: "0 a(-1 b())", lazy: "0 a(-1 b(?))"},
		{name: "a number for a name", body: `{"folders":[{"id":1,"name":2018}]}`, complete: "1 2018()", lazy: "1 2018(?)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, answer(http.StatusOK, mediaJSON, tc.body))
			for lazy, want := range map[bool]string{false: tc.complete, true: tc.lazy} {
				s, err := c.Structure(t.Context(), 0, lazy)
				if err != nil {
					t.Fatal(err)
				}
				if got := tree(s.Folders); got != want || s.Free == tc.closed {
					t.Errorf("lazy %t: got %q, free %t; want %q", lazy, got, s.Free, want)
				}
			}
		})
	}
}

func TestStructureRefuses(t *testing.T) {
	nested := func(depth int) string {
		return `{"folders":` + strings.Repeat(`[{"id":1,"folders":`, depth) + `[]` + strings.Repeat(`}]`, depth) + `}`
	}
	for _, tc := range []struct{ name, body, want string }{
		{"an empty body", "", "empty"},
		{"broken JSON", `{"folders":[{"id":1,"name":"a" 7}]}`, "byte 32"},
		{"an end within", `{"folders":[{"id":1,"name":"a","folders":[`, "unexpected EOF"},
		{"what follows", `{"folders":[]}}`, "byte 15"},
		{"nothing", `{}`, "no structure"},
		{"null", `null`, "no structure"},
		{"null folders", `{"folders":null}`, "no structure"},
		{"no folders", `{"free-archive-structure":true}`, "no structure"},
		{"something else", `{"message":"session expired"}`, "no structure"},
		{"a text", `"no"`, "no structure"},
		{"no array", `{"folders":7}`, "has an id"},
		{"no folder", `{"folders":[7,null]}`, "has an id"},
		{"no usable id", `{"folders":[{"id":99999999999999999999,"name":"a"}]}`, "has an id"},
		{"depth", nested(deepestFolder + 1), "deeper than 200"},
		{"great depth", nested(100_000), "deeper than 200"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, answer(http.StatusOK, mediaJSON, tc.body))
			_, err := c.Structure(t.Context(), 0, false)
			wantKind(t, err, OpStructure, archive.KindForeign)
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %q, want %q", err, tc.want)
			}
		})
	}
	c := newService(t, answer(http.StatusOK, mediaJSON, nested(deepestFolder)))
	if _, err := c.Structure(t.Context(), 0, false); err != nil {
		t.Errorf("the deepest tree: %v", err)
	}
}

func TestChildren(t *testing.T) {
	const (
		lazy     = "lazy=true&parent-folder-id=5"
		complete = "parent-folder-id=5"
	)
	for _, tc := range []struct {
		name     string
		answers  map[string]string // by query
		want     string
		requests []string // of two calls
	}{
		{
			"the children",
			map[string]string{lazy: `{"folders":[{"id":6,"name":"a"},{"id":7,"name":"b","folders":[{"id":8,"name":"c"}]}]}`},
			"6 a(?) 7 b(8 c(?))",
			[]string{lazy, lazy},
		},
		{
			"the parent with its children",
			map[string]string{lazy: `{"folders":[{"id":5,"name":"p","folders":[{"id":6,"name":"a"}]}]}`},
			"6 a(?)",
			[]string{lazy, lazy},
		},
		{
			"the parent alone",
			map[string]string{
				lazy:     `{"folders":[{"id":5,"name":"p","folders":[]}]}`,
				complete: `{"folders":[{"id":5,"name":"p","folders":[{"id":6,"name":"a"}]}]}`,
			},
			"6 a()",
			[]string{lazy, complete, complete},
		},
		{
			"a leaf",
			map[string]string{lazy: `{"folders":[{"id":5,"name":"p"}]}`, complete: `{"folders":[{"id":5,"name":"p"}]}`},
			"",
			[]string{lazy, complete, complete},
		},
		{"no children", map[string]string{lazy: `{"folders":[]}`}, "", []string{lazy, lazy}},
		{
			"the parent among its children",
			map[string]string{lazy: `{"folders":[{"id":6,"name":"a"},{"id":5,"name":"p"}]}`},
			"6 a(?)",
			[]string{lazy, lazy},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var requests []string
			c := newService(t, func(w http.ResponseWriter, r *http.Request) {
				requests = append(requests, r.URL.RawQuery)
				reply(w, http.StatusOK, mediaJSON, tc.answers[r.URL.RawQuery])
			})
			for range 2 {
				s, err := c.Children(t.Context(), 5)
				if err != nil {
					t.Fatal(err)
				}
				if got := tree(s.Folders); got != tc.want {
					t.Errorf("children are %q, want %q", got, tc.want)
				}
			}
			if !reflect.DeepEqual(requests, tc.requests) {
				t.Errorf("asked %q, want %q", requests, tc.requests)
			}
		})
	}
}

func TestInboxesDecodes(t *testing.T) {
	for _, tc := range []struct {
		name, body, want string
		closed           bool
	}{
		{name: "inboxes", closed: true, want: "5: 1 a(2 b()); 0: 3 c()", body: `{"free-inbox-structure":false,"inboxes":[` +
			`{"user-id":5,"folder":{"id":1,"name":"a","folders":[{"id":2,"name":"b"}]}},{"folder":{"id":3,"name":"c"}}]}`},
		{name: "called folders", body: `{"folders":[{"user-id":"5","folder":{"id":1,"name":"a"}}]}`, want: "5: 1 a()"},
		{name: "called both", body: `{"folders":[{"folder":{"id":1,"name":"a"}}],"inboxes":[{"user-id":5,"folder":{"id":1,"name":"a"}}]}`, want: "5: 1 a()"},
		{
			name: "folders themselves", body: `[{"id":1,"name":"a","folders":[{"id":2,"name":"b"}]},{"id":3,"name":"c","user-id":6}]`,
			want: "0: 1 a(2 b()); 6: 3 c()",
		},
		{name: "one for an array", body: `{"inboxes":{"user-id":5,"folder":{"id":1,"name":"a"}}}`, want: "5: 1 a()"},
		{name: "an array for a folder", body: `{"inboxes":[{"user-id":5,"folder":[{"id":1,"name":"a"}]}]}`, want: "5: 1 a()"},
		{name: "without a folder", body: `{"inboxes":[{"user-id":5,"folder":null},null,7,{"folder":{"name":"x"}}]}`},
		{name: "none", body: `{"inboxes":null,"folders":[]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, answer(http.StatusOK, mediaJSON, tc.body))
			got, err := c.Inboxes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, inbox := range got.Inboxes {
				parts = append(parts, fmt.Sprintf("%d: %s", inbox.UserID, tree([]archive.Folder{inbox.Folder})))
			}
			if all := strings.Join(parts, "; "); all != tc.want || got.Free == tc.closed {
				t.Errorf("got %q, free %t; want %q", all, got.Free, tc.want)
			}
		})
	}
	for _, body := range []string{"", `null`, `{}`, `{"inboxes":null}`, `{"free-inbox-structure":true}`, `{"inboxes":[`, `{"message":"no"}`, `7`, `{"inboxes":[]} 1`, `{"inboxes":[{"folder":{"id":1`} {
		c := newService(t, answer(http.StatusOK, mediaJSON, body))
		_, err := c.Inboxes(t.Context())
		wantKind(t, err, OpInboxes, archive.KindForeign)
	}
}

func TestCreateFolderReadsTheResult(t *testing.T) {
	for body, want := range map[string]archive.Folder{
		`{"id":8,"name":"Januar"}`: {ID: 8, Name: "Januar", ChildrenKnown: true},
		`{"folder-id":"8"}`:        {ID: 8, Name: "Jan", ChildrenKnown: true},
		`8`:                        {ID: 8, Name: "Jan", ChildrenKnown: true},
		``:                         {Name: "Jan", ChildrenKnown: true},
	} {
		c := newService(t, answer(http.StatusCreated, mediaJSON, body))
		got, err := c.CreateFolder(t.Context(), 3, "Jan")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", body, got, err, want)
		}
	}
	c := newService(t, answer(http.StatusOK, mediaJSON, `{"id":8,}`))
	_, err := c.CreateFolder(t.Context(), 3, "Jan")
	wantKind(t, err, OpFolderCreate, archive.KindProtocol)
}
