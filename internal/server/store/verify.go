package store

import (
	"context"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// Verification checks the consistency of the database.
type Verification struct{ *database }

// Reference is a content that something refers to.
type Reference struct {
	Digest string
	// Documents is how many documents have it, or, if none has, how many in the trash; 0 if it is only a rendition.
	Documents int64
	// Smallest and Largest are its sizes according to those documents, Fewest and Most its pages.
	Smallest, Largest int64
	Fewest, Most      int
	ContentType       string // empty if no document outside the trash has it
}

// References returns at most limit contents after a digest, in ascending order, that documents or
// renditions refer to; none at the end.
func (v *Verification) References(ctx context.Context, after string, limit int) ([]Reference, error) {
	held, err := v.references(ctx, `SELECT digest, count(*), min(size), max(size), min(pages), max(pages), max(content_type) FROM document
		WHERE digest > ? GROUP BY digest ORDER BY digest LIMIT ?`, after, limit)
	if err != nil {
		return nil, err
	}
	made, err := v.references(ctx, `SELECT DISTINCT digest, 0, 0, 0, 0, 0, '' FROM rendition
		WHERE digest > ? ORDER BY digest LIMIT ?`, after, limit)
	if err != nil {
		return nil, err
	}
	trashed, err := v.references(ctx, `SELECT digest, count(*), min(size), max(size), 0, 0, '' FROM trash
		WHERE digest > ? AND NOT erasing GROUP BY digest ORDER BY digest LIMIT ?`, after, limit)
	if err != nil {
		return nil, err
	}
	merged := slices.Concat(held, trashed, made)
	slices.SortStableFunc(merged, func(a, b Reference) int { return strings.Compare(a.Digest, b.Digest) })
	merged = slices.CompactFunc(merged, func(a, b Reference) bool { return a.Digest == b.Digest })
	return merged[:min(len(merged), limit)], nil
}

func (v *Verification) references(ctx context.Context, query string, args ...any) ([]Reference, error) {
	return collect(ctx, v.read, "list references", func(row scanner) (r Reference, err error) {
		err = row.Scan(&r.Digest, &r.Documents, &r.Smallest, &r.Largest, &r.Fewest, &r.Most, &r.ContentType)
		return r, err
	}, query, args...)
}

// Holder is a document that needs a content.
type Holder struct {
	ID     archive.ID `json:"id"`
	Tenant TenantID   `json:"tenant"`
	// Path has the names of the folders around it, the mandator first, and its own name.
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// Holders returns at most limit documents, by ascending id, that have a content or the source of a rendition.
func (v *Verification) Holders(ctx context.Context, digest string, limit int) (holders []Holder, err error) {
	var folders []archive.ID
	holders, err = collect(ctx, v.read, "list holders of content", func(row scanner) (h Holder, err error) {
		var folder archive.ID
		err = row.Scan(&h.ID, &h.Tenant, &folder, &h.Path, &h.Size)
		folders = append(folders, folder)
		return h, err
	}, `SELECT id, tenant, folder, name, size FROM document
		WHERE digest = ?1 OR digest IN (SELECT source FROM rendition WHERE digest = ?1) ORDER BY id LIMIT ?2`, digest, limit)
	if err != nil {
		return nil, err
	}
	for i := range holders {
		above, err := v.path(ctx, folders[i])
		if err != nil {
			return nil, err
		}
		holders[i].Path = above + "/" + holders[i].Path
	}
	return holders, nil
}

// deepest bounds the path of a folder, because damaged folders may form a loop.
const deepest = 1000

// path is the names of a folder and of those above it, as far as they exist.
func (v *Verification) path(ctx context.Context, folder archive.ID) (string, error) {
	names, err := collect(ctx, v.read, "find path of folder", only[string], `WITH RECURSIVE up (id, depth) AS (
		SELECT id, 0 FROM folder WHERE id = ?1 UNION ALL
		SELECT folder.parent, depth + 1 FROM up JOIN folder USING (id) WHERE folder.parent IS NOT NULL AND depth < ?2)
		SELECT name FROM up JOIN folder USING (id) ORDER BY depth DESC`, folder, deepest)
	return strings.Join(names, "/"), err
}

// Violation is a row that violates a rule.
type Violation struct {
	Rule     string
	Folder   archive.ID // 0 for none
	Document archive.ID // 0 for none
	Content  string     // a digest, empty for none
}

// rule is an invariant. Its query finds the rows that violate it, as folder, document and content. The
// service cannot cause most violations, but a database can be damaged or edited by hand.
type rule struct{ text, query string }

var rules = []rule{
	{"the folder's parent is missing", `SELECT f.id, 0, '' FROM folder f LEFT JOIN folder p ON p.id = f.parent
		WHERE f.parent IS NOT NULL AND p.id IS NULL`},
	{"the folder lies in a loop of folders, or below one", `WITH RECURSIVE reached (id) AS (
		SELECT f.id FROM folder f LEFT JOIN folder p ON p.id = f.parent WHERE p.id IS NULL UNION ALL
		SELECT folder.id FROM folder JOIN reached ON folder.parent = reached.id)
		SELECT id, 0, '' FROM folder WHERE id NOT IN (SELECT id FROM reached)`},
	{"the folder and its parent are of different tenants", `SELECT f.id, 0, '' FROM folder f JOIN folder p ON p.id = f.parent
		WHERE f.tenant != p.tenant`},
	{"of the folder and its parent one is of an inbox", `SELECT f.id, 0, '' FROM folder f JOIN folder p ON p.id = f.parent
		WHERE f.inbox != p.inbox`},
	{"the folder has no name, or one with a slash", `SELECT id, 0, '' FROM folder WHERE name = '' OR instr(name, '/') > 0`},
	{"the folder's tenant is missing", `SELECT id, 0, '' FROM folder WHERE tenant NOT IN (SELECT id FROM tenant)`},
	{"the document's folder is missing", `SELECT d.folder, d.id, '' FROM document d LEFT JOIN folder f ON f.id = d.folder
		WHERE f.id IS NULL`},
	{"the document and its folder are of different tenants", `SELECT d.folder, d.id, '' FROM document d JOIN folder f ON f.id = d.folder
		WHERE f.tenant != d.tenant`},
	{"the document lies in an inbox and has an archiving date", `SELECT d.folder, d.id, '' FROM document d JOIN folder f ON f.id = d.folder
		WHERE f.inbox AND d.archived IS NOT NULL`},
	{"the document is archived and has no archiving date", `SELECT d.folder, d.id, '' FROM document d JOIN folder f ON f.id = d.folder
		WHERE NOT f.inbox AND d.archived IS NULL`},
	{"the document has a negative size or number of pages", `SELECT folder, id, '' FROM document WHERE size < 0 OR pages < 0`},
	{"the document's content is not named by a SHA-256", `SELECT folder, id, digest FROM document WHERE length(digest) != 64`},
	{"the note or stamp belongs to no document", `SELECT 0, document, '' FROM annotation WHERE document NOT IN (SELECT id FROM document)`},
	{"the rendition was made of a content that no document holds", `SELECT 0, 0, r.source FROM rendition r
		WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.digest = r.source)
		AND NOT EXISTS (SELECT 1 FROM trash t WHERE t.digest = r.source)`},
	{"the search keeps the text of a content that no document holds", `SELECT 0, 0, c.digest FROM content c
		WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.digest = c.digest)`},
	{"the search does not know of the document's content", `SELECT d.folder, d.id, d.digest FROM document d
		WHERE NOT EXISTS (SELECT 1 FROM content c WHERE c.digest = d.digest)`},
}

// Violations calls each for every row that violates a rule. Each rule is checked in one query, so that
// concurrent changes are no violation.
func (v *Verification) Violations(ctx context.Context, each func(Violation) error) error {
	for _, r := range rules {
		err := eachRow(ctx, v.read, "check whether "+r.text, func(row scanner) error {
			broken := Violation{Rule: r.text}
			if err := row.Scan(&broken.Folder, &broken.Document, &broken.Content); err != nil {
				return err
			}
			return each(broken)
		}, r.query)
		if err != nil {
			return err
		}
	}
	return nil
}

// Integrity has SQLite check its pages, indexes and columns, and calls each with every defect. It does
// nothing for PostgreSQL, which has its own tools (amcheck).
func (v *Verification) Integrity(ctx context.Context, each func(text string) error) error {
	if v.several() {
		return nil
	}
	for _, query := range []string{
		"SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check != 'ok'",
		`SELECT 'document ' || id || ': keywords, types or metadata are no JSON' FROM document
			WHERE NOT (json_valid(keywords) AND json_valid(types) AND json_valid(metadata))`,
	} {
		err := eachRow(ctx, v.read, "examine database", func(row scanner) error {
			var text string
			if err := row.Scan(&text); err != nil {
				return err
			}
			return each(text)
		}, query)
		if err != nil {
			return err
		}
	}
	return nil
}
