package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// Search selects the documents that fulfil all its conditions. Texts are compared without regard to case.
type Search struct {
	// All, One and None are texts of which all, at least one, or none occur in the name, a
	// keyword, a document type, a metadata value, the external id, a note or a stamp, or as
	// consecutive words of the content. A single word also matches words with its beginning or stem.
	All, One, None []string
	// Name, FolderName, Notes and Keywords are texts that must all occur in the name, in the folder's
	// path, which begins with the mandator or the inbox, in notes, and in keywords.
	Name, FolderName, Notes, Keywords []string
	// Stamps are titles of stamps that a document must have, NoStamps of those that it must not have.
	Stamps, NoStamps []string
	Type             string
	// ExternalID occurs in the external id, and each value of Metadata in the value of that key.
	ExternalID   string
	Metadata     []archive.KeyValue
	From, Before time.Time  // of creation; zero: any
	Archiver     int64      // the id of the user who archived it; 0: anybody
	Folder       archive.ID // 0: anywhere
	Recursive    bool       // also in the folders below Folder
	// Confined limits the search to Roots and everything below them.
	Confined bool
	Roots    []archive.ID
}

// Search returns the documents, the latest first.
func (a Archive) Search(ctx context.Context, q Search) ([]archive.ID, error) {
	w := where{engine: a.engine, tenant: a.tenant}
	w.narrow(&q)
	w.look(&q)
	tenant := condition{"d.tenant = ?", []any{a.tenant}}
	if w.quick {
		tenant.sql = "+" + tenant.sql
	}
	all := every(append([]condition{tenant}, w.all...))
	return queryIDs(ctx, a.read, "SELECT id FROM document d WHERE "+all.sql+" ORDER BY created DESC, id DESC", all.args...)
}

// where is a search as SQL: conditions about a document d, which must all hold.
type where struct {
	engine
	tenant TenantID
	all    []condition
	quick  bool // an index finds fewer documents than the tenant has
}

func (w *where) add(sql string, args ...any) { w.all = append(w.all, condition{sql, args}) }

const (
	liesBelow = `d.folder IN (WITH RECURSIVE down (id) AS (
		SELECT CAST(? AS BIGINT) UNION ALL SELECT folder.id FROM folder JOIN down ON folder.parent = down.id) SELECT id FROM down)`
	liesBelowOne = `d.folder IN (WITH RECURSIVE down (id) AS (
		SELECT value FROM json_each(?) UNION ALL SELECT folder.id FROM folder JOIN down ON folder.parent = down.id) SELECT id FROM down)`
)

// narrow adds the conditions about folder, dates and archiver.
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
	if q.Archiver != 0 {
		w.add("d.archiver_id = ?", q.Archiver)
	}
	w.quick = q.Folder != 0 || q.Confined
}

// liesIn begins a condition about the path of a document's folder.
const liesIn = `d.folder IN (WITH RECURSIVE way (id, path) AS (
		SELECT id, folded FROM folder WHERE parent IS NULL AND tenant = ?
		UNION ALL SELECT folder.id, way.path || '/' || folder.folded FROM folder JOIN way ON folder.parent = way.id)
	SELECT id FROM way WHERE `

// along adds the condition about the folder's path. The query computes all paths once.
func (w *where) along(terms []string) {
	if len(terms) == 0 {
		return
	}
	occur := make([]condition, 0, len(terms))
	for _, text := range terms {
		occur = append(occur, inAnySpelling(text, func(text string) condition {
			return condition{"instr(path, ?) > 0", []any{text}}
		}))
	}
	all := every(occur)
	w.add(liesIn+all.sql+")", append([]any{w.tenant}, all.args...)...)
}

const (
	named    = "instr(substr(d.said, 1, instr(d.said, '" + endOfItem + "')), ?) > 0" // the name comes first
	hasStamp = "EXISTS (SELECT 1 FROM annotation WHERE document = d.id AND kind = 'stamp' AND folded_title = ?)"
	hasNote  = "EXISTS (SELECT 1 FROM annotation WHERE document = d.id AND kind = 'note' AND instr(folded_text, ?) > 0)"

	// The keywords come after the name, and before the first item of another kind.
	toKeywords = "replace(replace(replace(d.said, '" + saidValue + "', '" + saidType + "'), '" + saidExternal + "', '" + saidType + "'), '" + saidRemark + "', '" + saidType + "')"
	keywordsOf = "substr(substr(" + toKeywords + ", 1, instr(" + toKeywords + " || '" + saidType + "', '" + saidType + "')), instr(d.said, '" + endOfItem + "'))"
	hasKeyword = "instr(" + keywordsOf + ", ?) > 0"
)

// inItem holds if a folded text occurs in the item of a column that starts with begin. There is at most one such item.
func inItem(column, begin, text string) condition {
	rest := "substr(" + column + ", instr(" + column + ", ?) + " + strconv.Itoa(utf8.RuneCountInString(begin)) + ")"
	return condition{
		"(instr(" + column + ", ?) > 0 AND instr(substr(" + rest + ", 1, instr(" + rest + ", '" + endOfItem + "')), ?) > 0)",
		[]any{begin, begin, begin, text},
	}
}

// look adds the conditions about texts. Any spelling of a text matches.
func (w *where) look(q *Search) {
	each := func(texts []string, as func(text string) condition) {
		for _, text := range texts {
			w.all = append(w.all, inAnySpelling(text, as))
		}
	}
	each(q.Name, func(text string) condition { return w.mentionedAnd(text, condition{named, []any{text}}) })
	w.along(q.FolderName)
	each(q.Notes, func(text string) condition { return w.mentionedAnd(text, condition{hasNote, []any{text}}) })
	each(q.Keywords, func(text string) condition { return w.mentionedAnd(text, condition{hasKeyword, []any{text}}) })
	if q.Type != "" {
		each([]string{q.Type}, func(text string) condition { return w.mentioned(folded(saidType, text)) })
	}
	if q.ExternalID != "" {
		each([]string{q.ExternalID}, func(text string) condition {
			return w.mentionedAnd(text, inItem("d.said", saidExternal, text))
		})
	}
	each(q.Stamps, func(text string) condition {
		return w.mentionedAnd(folded(saidRemark, text), condition{hasStamp, []any{text}})
	})
	for _, pair := range q.Metadata {
		each([]string{pair.Value}, func(value string) condition {
			return w.mentionedAnd(value, inItem("d.pairs", keyOf(pair.Key), value))
		})
	}
	each(q.All, w.occurring)
	if len(q.One) > 0 {
		w.all = append(w.all, w.one(q.One))
	}
	quick := w.quick // an index does not help with excluded texts
	for _, text := range q.None {
		w.all = append(w.all, not(inAnySpelling(text, w.occurring)))
	}
	for _, text := range q.NoStamps {
		w.all = append(w.all, not(inAnySpelling(text, func(text string) condition { return condition{hasStamp, []any{text}} })))
	}
	w.quick = quick
}

// one holds if one of several texts occurs. It is quick if an index helps with each of them.
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

// occurring holds if a folded text occurs in the metadata or in the content.
func (w *where) occurring(text string) condition {
	mentioned, in := w.mentioned(text), soughtFor(text)
	if !in.indexed() {
		return mentioned
	}
	return some([]condition{mentioned, w.contains(in)})
}

// mentioned holds if a folded text occurs in the metadata of a document.
func (w *where) mentioned(text string) condition {
	holds, quick := w.mention(text)
	w.quick = w.quick || quick
	return holds
}

// mentionedAnd adds to a condition the weaker one that a text occurs in the metadata, for which there may be an index.
func (w *where) mentionedAnd(text string, holds condition) condition {
	return every([]condition{w.mentioned(text), holds})
}

// inAnySpelling holds if the condition holds for one of the spellings of a text.
func inAnySpelling(text string, as func(folded string) condition) condition {
	var spelt []condition
	for _, spelling := range spellings(text) {
		spelt = append(spelt, as(spelling))
	}
	return some(spelt)
}

// condition is an SQL condition about a document d.
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

// Texts are the texts of a search, to find them on the pages of its hits. They are for one goroutine.
type Texts struct {
	anywhere      []string // All and One; every spelling, folded, as are the others
	notes, titles []string
	words         []sought // what may be in contents
	stem          stemmer
	stems         map[string][]string // by word
}

// Texts returns the texts that may occur on a page.
func (q *Search) Texts() *Texts {
	each := func(texts []string) (spelt []string) {
		for _, text := range texts {
			spelt = append(spelt, spellings(text)...)
		}
		return spelt
	}
	t := &Texts{
		anywhere: each(slices.Concat(q.All, q.One)), notes: each(q.Notes), titles: each(q.Stamps),
		stem: newStemmer(), stems: map[string][]string{},
	}
	for _, text := range t.anywhere {
		if in := soughtFor(text); in.indexed() {
			t.words = append(t.words, in)
		}
	}
	return t
}

// OfContents reports whether one of them may be found in contents.
func (t *Texts) OfContents() bool { return len(t.words) > 0 }

// InContent reports whether one of them occurs in a text of a content, by the rules of the index.
func (t *Texts) InContent(text string) bool {
	has := slices.DeleteFunc(words(text), tooLong)
	return slices.ContainsFunc(t.words, func(s sought) bool { return s.in(has, t.stemsOf) })
}

func (t *Texts) stemsOf(word string) []string {
	stems, known := t.stems[word]
	if !known {
		stems = t.stem.of(word)
		t.stems[word] = stems
	}
	return stems
}

// InRemarks reports whether one of them occurs in notes or stamps.
func (t *Texts) InRemarks(notes []Note, stamps []Stamp) bool {
	for _, n := range notes {
		if text := fold(n.Text); containsAny(text, t.anywhere) || containsAny(text, t.notes) {
			return true
		}
	}
	for _, n := range stamps {
		if title := fold(n.Title); containsAny(title, t.anywhere) || slices.Contains(t.titles, title) || containsAny(fold(n.Text), t.anywhere) {
			return true
		}
	}
	return false
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// in reports whether a text with these words contains what is sought.
func (s sought) in(has []string, stemsOf func(word string) []string) bool {
	before, last := s.words[:len(s.words)-1], s.words[len(s.words)-1]
	for i := 0; i+len(before) < len(has); i++ {
		word := has[i+len(before)]
		if (word == last || s.prefix && strings.HasPrefix(word, last)) && slices.Equal(has[i:i+len(before)], before) {
			return true
		}
	}
	if s.stems == nil {
		return false
	}
	return slices.ContainsFunc(has, func(word string) bool {
		return slices.Contains(s.stems, word) || slices.ContainsFunc(stemsOf(word), func(stem string) bool { return slices.Contains(s.stems, stem) })
	})
}
