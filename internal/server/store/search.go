package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Search says which documents are looked for: those that fulfil all of it. Texts are
// compared without regard to case.
type Search struct {
	// All, One and None are texts of which all, at least one, or none occur in the name, a
	// keyword, a document type, a metadata value, the external id, a note or a stamp.
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
}

// Search returns the documents, the youngest first.
func (a Archive) Search(ctx context.Context, q Search) ([]archive.ID, error) {
	where, args := q.conditions()
	tenant := "d.tenant = ?"
	if q.Folder != 0 || q.ExternalID != "" {
		tenant = "+" + tenant // the index of the folders, or that of the external ids, leads to less
	}
	return queryIDs(ctx, a.read, "SELECT id FROM document d WHERE "+tenant+" AND "+where+" ORDER BY created DESC, id DESC",
		append([]any{a.tenant}, args...)...)
}

const (
	// occurs holds when the text is in what is said about a document d.
	occurs = `(instr(d.said, ?) > 0 OR EXISTS (SELECT 1 FROM annotation
		WHERE document = d.id AND (instr(folded_title, ?) > 0 OR instr(folded_text, ?) > 0)))`
	has         = "instr(d.said, ?) > 0"
	hasMetadata = "instr(d.pairs, ?) > 0"
	hasStamp    = "EXISTS (SELECT 1 FROM annotation WHERE document = d.id AND kind = 'stamp' AND folded_title = ?)"
	hasNote     = "EXISTS (SELECT 1 FROM annotation WHERE document = d.id AND kind = 'note' AND instr(folded_text, ?) > 0)"
	named       = "instr(substr(d.said, 1, instr(d.said, '" + endOfItem + "')), ?) > 0" // the name comes first
	folderNamed = "EXISTS (SELECT 1 FROM folder WHERE id = d.folder AND instr(folded, ?) > 0)"
	liesBelow   = `d.folder IN (WITH RECURSIVE down (id) AS (
		SELECT CAST(? AS BIGINT) UNION ALL SELECT folder.id FROM folder JOIN down ON folder.parent = down.id) SELECT id FROM down)`
)

// conditions is the search as SQL about a document d.
func (q *Search) conditions() (where string, args []any) {
	all := []string{"true"}
	add := func(condition string, values ...any) {
		all, args = append(all, condition), append(args, values...)
	}
	each := func(condition string, texts []string) {
		for _, text := range texts {
			add(condition, needles(condition, text)...)
		}
	}
	if q.Folder != 0 && q.Recursive {
		add(liesBelow, q.Folder)
	} else if q.Folder != 0 {
		add("d.folder = ?", q.Folder)
	}
	if !q.From.IsZero() {
		add("d.created >= ?", q.From.Unix())
	}
	if !q.Before.IsZero() {
		add("d.created < ?", q.Before.Unix())
	}
	if q.ExternalID != "" {
		add("d.external_id = ?", q.ExternalID)
	}
	each(named, q.Name)
	each(folderNamed, q.FolderName)
	for _, keyword := range q.Keywords {
		add(has, item(saidKeyword, keyword))
	}
	each(hasNote, q.Notes)
	each(hasStamp, q.Stamps)
	each("NOT "+hasStamp, q.NoStamps)
	each(occurs, q.All)
	each("NOT "+occurs, q.None)
	if q.Type != "" {
		add(has, item(saidType, q.Type))
	}
	for _, pair := range q.Metadata {
		add(hasMetadata, keyAndValue(pair))
	}
	if len(q.One) > 0 {
		one := make([]string, len(q.One))
		for i, text := range q.One {
			one[i], args = occurs, append(args, needles(occurs, text)...)
		}
		all = append(all, "("+strings.Join(one, " OR ")+")")
	}
	return strings.Join(all, " AND "), args
}

// needles is a text for each parameter of a condition.
func needles(condition, text string) []any {
	return slices.Repeat([]any{fold(text)}, strings.Count(condition, "?"))
}
