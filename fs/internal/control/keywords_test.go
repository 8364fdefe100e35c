package control

import (
	"errors"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

func TestKeywordOfAQuestion(t *testing.T) {
	for text, want := range map[string]string{
		"keyword:open":             "open",
		`keyword:"two words"`:      "two words",
		"keyword:open keyword:new": "",
		"keyword:open after:2024":  "",
		"keyword:open in:Bills":    "",
		"open":                     "",
		"keyword:":                 "",
	} {
		if got := ask(text).keyword(); got != want {
			t.Errorf("%s is the keyword %q, want %q", text, got, want)
		}
	}
	if got := ofKeyword(`a"b`).keyword(); got != `a"b` {
		t.Errorf("got %q", got)
	}
}

// Inbox documents whose keyword the service does not know yet are found, too, once.
func TestKeptKeywords(t *testing.T) {
	m := &fakeMount{
		hits: []archive.Hit{{Document: 7, Name: "a.txt"}},
		kept: []archive.ID{7, 8, 9},
		data: map[archive.ID]archive.DocumentData{8: {ID: 8, Name: "b.txt"}}, // somebody removed 9
	}
	tr, _ := tree(m)
	lists(t, tr, "by-keyword/open", "a.txt", "b.txt")
	if dir := finds[*Dir](t, tr, "by-keyword/open"); dir.Size() != 2 || dir.Keyword != "open" {
		t.Errorf("%d hits, of the keyword %q", dir.Size(), dir.Keyword)
	}
	if a, err := finds[*Dir](t, tr, "by-keyword/open").Attr(t.Context()); err != nil || a.Mode != syscall.S_IFDIR|0o777 {
		t.Errorf("its mode is %o, %v: programs would not try to move something there", a.Mode, err)
	}
	if dir := finds[*Dir](t, tr, "search/open"); dir.Keyword != "" || dir.Size() != 1 {
		t.Errorf("a search gives the keyword %q, and has %d hits", dir.Keyword, dir.Size())
	}
	m.hits, m.searchErr = nil, &archive.Error{Kind: archive.KindUnsupported}
	tr.KeywordAdded()
	lists(t, tr, "by-keyword/open", "b.txt")
	wantErrno(t, tr, "search/open after:2024", syscall.ENOTSUP)
	m.searchErr = &archive.Error{Kind: archive.KindUnreachable}
	if _, err := tr.walk(t.Context(), "by-keyword/other"); !errors.Is(err, m.searchErr) {
		t.Errorf("while the service is away: %v", err)
	}
}
