package control

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/query"
)

// maxKept limits the inbox documents that are shown for a keyword that the service does not know of:
// each can take a request.
const maxKept = 100

// keywords has a directory for each keyword, with the documents that have it. Like queries it lists
// nothing.
func (t *Tree) keywords() *Dir {
	return &Dir{Ino: inode.ByKeyword, Lookup: func(ctx context.Context, name string) (Node, error) {
		if (*names.Rules)(nil).Stays(name) || strings.HasPrefix(name, ".") || strings.TrimSpace(name) != name {
			return nil, syscall.ENOENT
		}
		asked, path := ofKeyword(name), below(byKeywordName, name)
		if _, err := t.search(ctx, asked); err != nil {
			return nil, failed("search", path, err)
		}
		return t.results(asked, path), nil
	}}
}

// ofKeyword asks for the documents with a keyword, which may have characters that a query cannot
// express.
func ofKeyword(word string) question {
	return question{key: "\x00" + word, q: query.Query{Search: archive.Search{Keywords: []string{word}}}}
}

// keyword is the keyword, if the question asks for one and nothing else.
func (a question) keyword() string {
	if len(a.q.Keywords) != 1 || !reflect.DeepEqual(a.q, query.Query{Search: archive.Search{Keywords: a.q.Keywords}}) {
		return ""
	}
	return a.q.Keywords[0]
}

// withKept adds the inbox documents to hits for which the mount keeps the keyword: the service does
// not know of it until they are archived. Where it has no search they are all that is found.
func (t *Tree) withKept(ctx context.Context, word string, hits archive.Hits, err error) (archive.Hits, error) {
	if archive.KindOf(err) == archive.KindUnsupported {
		t.log.Warnf("the service has no search: of the documents with the keyword %q only those are shown that are in an inbox and were given it here",
			archive.Printable(word))
		err = nil
	}
	if err != nil {
		return hits, err
	}
	kept := t.mount.WithKeyword(word)
	for _, id := range kept[:min(len(kept), maxKept)] {
		if slices.ContainsFunc(hits.List, func(h archive.Hit) bool { return h.Document == id }) {
			continue
		}
		a, err := t.about(ctx, id)
		if k := archive.KindOf(err); k == archive.KindNotFound || k == archive.KindForbidden {
			continue // somebody removed or archived it, or it is not for this user
		}
		if err != nil {
			return hits, err
		}
		hits.List = append(hits.List, archive.Hit{
			Document: id, Name: a.doc.Name, Pages: a.doc.Pages, Created: a.doc.Created, Folder: a.doc.Folder, Mandator: a.mandator,
		})
		hits.Total++
	}
	return hits, nil
}

// KeywordAdded drops the hits that lack a document which was given a keyword.
func (t *Tree) KeywordAdded() { t.searches.InvalidateAll() }
