package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Search says which documents are looked for: those that fulfil all of it. Texts are
// compared without regard to case.
type Search struct {
	// All, One and None are texts of which all, at least one, or none occur in the name, a
	// keyword, a document type, a metadata value, the external id, a note or a stamp, or are
	// words of the content, one after the other. Of one word also the beginning or the stem counts.
	All, One, None []string
	// Name, FolderName and Notes are texts that all occur in the name, in that of the folder,
	// and in notes.
	Name, FolderName, Notes []string
	// Keywords are those that a document has all of.
	Keywords []string
	// Stamps are titles of stamps that a document has all of, NoStamps of those it has none of.
	Stamps, NoStamps []string
	Type             string
	ExternalID       string
	Metadata         []archive.KeyValue
	From, Before     time.Time  // of creation; zero: any
	Folder           archive.ID // 0: anywhere
	Recursive        bool       // also in the folders below Folder
	// Confined says that only what lies in or below Roots is found.
	Confined bool
	Roots    []archive.ID
}

// Search returns the documents, the youngest first.
func (a Archive) Search(ctx context.Context, q Search) ([]archive.ID, error) {
	w := where{engine: a.engine}
	w.narrow(&q)
	w.look(&q)
	tenant := condition{"d.tenant = ?", []any{a.tenant}}
	if w.quick {
		tenant.sql = "+" + tenant.sql
	}
	all := every(append([]condition{tenant}, w.all...))
	return queryIDs(ctx, a.read, "SELECT id FROM document d WHERE "+all.sql+" ORDER BY created DESC, id DESC", all.args...)
}

// where is a search as SQL about a document d: conditions that all hold.
type where struct {
	engine
	all   []condition
	quick bool // an index leads to less than the tenant's documents
}

func (w *where) add(sql string, args ...any) { w.all = append(w.all, condition{sql, args}) }

const (
	liesBelow = `d.folder IN (WITH RECURSIVE down (id) AS (
		SELECT CAST(? AS BIGINT) UNION ALL SELECT folder.id FROM folder JOIN down ON folder.parent = down.id) SELECT id FROM down)`
	liesBelowOne = `d.folder IN (WITH RECURSIVE down (id) AS (
		SELECT value FROM json_each(?) UNION ALL SELECT folder.id FROM folder JOIN down ON folder.parent = down.id) SELECT id FROM down)`
)

// narrow adds what says where and when documents are looked for.
func (w *where) narrow(q *Search) {
	if q.Folder != 0 && q.Recursive {
		w.add(liesBelow, q.Folder)
	} else if q.Folder != 0 {
		w.add("d.folder = ?", q.Folder)
	}
	if q.Confined {
		roots := make([]string, len(q.Roots))
		for i, id := range q.Roots {
			roots[i] = strconv.FormatInt(int64(id), 10)
		}
		w.add(liesBelowOne, "["+strings.Join(roots, ",")+"]")
	}
	if !q.From.IsZero() {
		w.add("d.created >= ?", q.From.Unix())
	}
	if !q.Before.IsZero() {
		w.add("d.created < ?", q.Before.Unix())
	}
	if q.ExternalID != "" {
		w.add("d.external_id = ?", q.ExternalID)
	}
	w.quick = q.Folder != 0 || q.ExternalID != "" || q.Confined
}

const (
	named       = "instr(substr(d.said, 1, instr(d.said, '" + endOfItem + "')), ?) > 0" // the name comes first
	folderNamed = "EXISTS (SELECT 1 FROM folder WHERE id = d.folder AND instr(folded, ?) > 0)"
	hasMetadata = "instr(d.pairs, ?) > 0"
	hasStamp    = "EXISTS (SELECT 1 FROM annotation WHERE document = d.id AND kind = 'stamp' AND folded_title = ?)"
	hasNote     = "EXISTS (SELECT 1 FROM annotation WHERE document = d.id AND kind = 'note' AND instr(folded_text, ?) > 0)"
)

// look adds the texts. Each is found in any of its spellings.
func (w *where) look(q *Search) {
	each := func(texts []string, as func(text string) condition) {
		for _, text := range texts {
			w.all = append(w.all, inAnySpelling(text, as))
		}
	}
	said := func(kind string) func(string) condition {
		return func(text string) condition { return w.mentioned(folded(kind, text)) }
	}
	each(q.Name, func(text string) condition { return w.mentionedAnd(text, condition{named, []any{text}}) })
	each(q.FolderName, func(text string) condition { return condition{folderNamed, []any{text}} })
	each(q.Notes, func(text string) condition { return w.mentionedAnd(text, condition{hasNote, []any{text}}) })
	each(q.Keywords, said(saidKeyword))
	if q.Type != "" {
		each([]string{q.Type}, said(saidType))
	}
	each(q.Stamps, func(text string) condition {
		return w.mentionedAnd(folded(saidRemark, text), condition{hasStamp, []any{text}})
	})
	for _, pair := range q.Metadata {
		each([]string{pair.Value}, func(value string) condition {
			return w.mentionedAnd(folded(saidValue, value), condition{hasMetadata, []any{keyAndValue(pair.Key, value)}})
		})
	}
	each(q.All, w.occurring)
	if len(q.One) > 0 {
		w.all = append(w.all, w.one(q.One))
	}
	quick := w.quick // what is excluded leads nowhere
	for _, text := range q.None {
		w.all = append(w.all, not(inAnySpelling(text, w.occurring)))
	}
	for _, text := range q.NoStamps {
		w.all = append(w.all, not(inAnySpelling(text, func(text string) condition { return condition{hasStamp, []any{text}} })))
	}
	w.quick = quick
}

// one holds when one of several texts occurs. An index leads to fewer documents when it does
// for all of them.
func (w *where) one(texts []string) condition {
	quick, all := w.quick, true
	one := make([]condition, 0, len(texts))
	for _, text := range texts {
		w.quick = false
		one = append(one, inAnySpelling(text, w.occurring))
		all = all && w.quick
	}
	w.quick = quick || all
	return some(one)
}

// occurring holds when a folded text is mentioned, or in the content. The index of contents has no
// word that is too long, and not every engine looks for one.
func (w *where) occurring(text string) condition {
	mentioned, in := w.mentioned(text), soughtFor(text)
	if len(in.words) == 0 || slices.ContainsFunc(in.words, func(word string) bool { return len(word) > maxWord }) {
		return mentioned
	}
	return some([]condition{mentioned, w.contains(in)})
}

// mentioned holds when a folded text is in what is said about a document.
func (w *where) mentioned(text string) condition {
	holds, quick := w.mention(text)
	w.quick = w.quick || quick
	return holds
}

// mentionedAnd is a condition that only documents can fulfil about which a text is said.
func (w *where) mentionedAnd(text string, holds condition) condition {
	return every([]condition{w.mentioned(text), holds})
}

// inAnySpelling holds when one of the spellings of a text does.
func inAnySpelling(text string, as func(folded string) condition) condition {
	var spelt []condition
	for _, spelling := range spellings(text) {
		spelt = append(spelt, as(spelling))
	}
	return some(spelt)
}

// condition is one about a document d, in SQL.
type condition struct {
	sql  string
	args []any
}

func every(conditions []condition) condition { return joined(conditions, " AND ") }
func some(conditions []condition) condition  { return joined(conditions, " OR ") }
func not(c condition) condition              { return condition{"NOT " + c.sql, c.args} }

func joined(conditions []condition, by string) condition {
	parts, args := make([]string, 0, len(conditions)), []any(nil)
	for _, c := range conditions {
		parts, args = append(parts, c.sql), append(args, c.args...)
	}
	return condition{"(" + strings.Join(parts, by) + ")", args}
}
