package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Trash has the documents of all tenants that administrators have removed. They are in no list and no
// search; their contents are kept. After their term they are erased, in steps that can be repeated:
// Due, Begin, the removal of the content, Scrub, End. Between Begin and End a document cannot be restored, and
// nothing but its id, its digest and the reason of its removal is left of its row and its audit trail.
type Trash struct{ *database }

// Removal says why and until when a document is in the trash.
type Removal struct {
	Reason  string // not empty
	At, Due time.Time
	// Law says that the document is removed in spite of its retention.
	Law bool
}

// Trashed is a document in the trash.
type Trashed struct {
	ID     archive.ID
	Tenant TenantID
	Size   int64
	Removal
	// Erasing says that Begin was called.
	Erasing bool
	Who     string
	Place   string // its folders and its name, for people; empty while it is being erased
}

// documentTable and annotationTable have the columns that a row in the trash consists of. Annotations get new ids.
func documentTable() table { return tableNamed("document") }

func annotationTable() table {
	t := tableNamed("annotation")
	t.columns = slices.DeleteFunc(slices.Clone(t.columns), func(column string) bool { return column == t.key })
	return t
}

func tableNamed(name string) table {
	all := tables()
	return all[slices.IndexFunc(all, func(t table) bool { return t.name == name })]
}

// Put moves a document of an archive into the trash. The error is KindNotFound if there is none,
// KindConflict if it is there already, and KindForbidden if it is retained.
func (t *Trash) Put(ctx context.Context, a Archive, id archive.ID, r Removal) error {
	return a.change(ctx, func(e edit) error {
		d, err := findDocument(ctx, e, changeDocument, e.tenant, id)
		if archive.KindOf(err) == archive.KindNotFound {
			return cmp.Or(e.wantNotInTrash(ctx, id), err)
		}
		if err != nil {
			return err
		}
		if !r.Law {
			if err := e.wantFree(ctx, d, r.At); err != nil {
				return err
			}
		}
		if err := e.engine.secure(ctx, e); err != nil {
			return err
		}
		place, err := e.place(ctx, d.Folder, d.Name)
		if err != nil {
			return err
		}
		document, err := e.objects(ctx, documentTable(), "id", id)
		if err != nil {
			return err
		}
		annotations, err := e.objects(ctx, annotationTable(), "document", id)
		if err != nil {
			return err
		}
		err = run(ctx, e, "put into the trash", `INSERT INTO trash (id, tenant, digest, size, removed, due, law, erasing, who, reason, place, document, annotations)
			VALUES (?, ?, ?, ?, ?, ?, ?, FALSE, ?, ?, ?, ?, ?)`, id, e.tenant, d.Digest, d.Size, r.At.Unix(), r.Due.Unix(), r.Law,
			bounded(e.user), bounded(r.Reason), place, document, annotations)
		if err == nil {
			err = e.remove(ctx, id)
		}
		if err != nil {
			return err
		}
		return e.record(ctx, Entry{Action: DocumentTrashed, Document: id, Was: place + " " + d.Digest, Became: r.Reason})
	})
}

// objects returns the rows of a document as a JSON array of objects.
func (e edit) objects(ctx context.Context, t table, column string, id archive.ID) (string, error) {
	rows, err := collect(ctx, e, "read "+t.name, func(row scanner) (object json.RawMessage, err error) {
		var text string
		err = row.Scan(&text)
		return json.RawMessage(text), err
	}, t.objects()+" WHERE "+column+" = ? ORDER BY "+t.key, id)
	if err != nil {
		return "", err
	}
	return encode(rows)
}

// Restore moves a document back to its folder, with its id. The error is KindNotFound if it is not in
// the trash of the archive, KindConflict if it is being erased.
func (t *Trash) Restore(ctx context.Context, a Archive, id archive.ID) error {
	return a.change(ctx, func(e edit) error {
		var document, annotations string
		var erasing bool
		err := e.row(ctx, "SELECT document, annotations, erasing FROM trash WHERE id = ? AND tenant = ?"+forUpdate, id, e.tenant).
			Scan(&document, &annotations, &erasing)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return notInTrash(id)
		case err != nil:
			return fmt.Errorf("read trash: %w", err)
		case erasing:
			return refuse(archive.KindConflict, "document %d is being erased", id)
		}
		if err := e.populate(ctx, documentTable(), document); err != nil {
			return err
		}
		if err := e.populate(ctx, annotationTable(), annotations); err != nil {
			return err
		}
		if _, err := e.exec(ctx, "DELETE FROM trash WHERE id = ?", id); err != nil {
			return fmt.Errorf("restore document: %w", err)
		}
		d, err := findDocument(ctx, e, selectDocument, e.tenant, id)
		if err != nil {
			return err
		}
		place, err := e.place(ctx, d.Folder, d.Name)
		if err != nil {
			return err
		}
		return e.record(ctx, Entry{Action: DocumentRestored, Document: id, Became: place})
	})
}

// wantNotInTrash returns an error if a document is in the trash.
func (e edit) wantNotInTrash(ctx context.Context, id archive.ID) error {
	found, err := collect(ctx, e, "list trash", scanTrashed, "SELECT "+trashColumns+" FROM trash WHERE id = ? AND tenant = ?", id, e.tenant)
	if err != nil || len(found) == 0 {
		return err
	}
	d, until := found[0], "until "+found[0].Due.Format(time.DateTime)
	if d.Erasing {
		until = "and is being erased"
	}
	return refuse(archive.KindConflict, "document %d is in the trash already, since %s %s", id, d.At.Format(time.DateTime), until)
}

func notInTrash(id archive.ID) error {
	return refuse(archive.KindNotFound, "there is no document %d in the trash", id)
}

// populate adds rows, a JSON array of objects.
func (e edit) populate(ctx context.Context, t table, rows string) error {
	var objects []json.RawMessage
	if err := json.Unmarshal([]byte(rows), &objects); err != nil {
		return fmt.Errorf("restore %s: %w", t.name, err)
	}
	for _, object := range objects {
		if _, err := e.exec(ctx, e.engine.insertRow(t), string(object)); err != nil {
			return fmt.Errorf("restore %s: %w", t.name, err)
		}
	}
	return nil
}

const trashColumns = "id, tenant, size, removed, due, law, erasing, who, reason, place"

func scanTrashed(row scanner) (d Trashed, err error) {
	var removed, due int64
	err = row.Scan(&d.ID, &d.Tenant, &d.Size, &removed, &due, &d.Law, &d.Erasing, &d.Who, &d.Reason, &d.Place)
	d.At, d.Due = time.Unix(removed, 0), time.Unix(due, 0)
	return d, err
}

// List returns the documents of a tenant, by ascending id.
func (t *Trash) List(ctx context.Context, tenant TenantID) ([]Trashed, error) {
	return collect(ctx, t.read, "list trash", scanTrashed, "SELECT "+trashColumns+" FROM trash WHERE tenant = ? ORDER BY id", tenant)
}

// Due returns at most limit documents of all tenants that are to be erased.
func (t *Trash) Due(ctx context.Context, now time.Time, limit int) ([]Trashed, error) {
	return collect(ctx, t.read, "list trash", scanTrashed, "SELECT "+trashColumns+" FROM trash WHERE due <= ? ORDER BY due, id LIMIT ?", now.Unix(), limit)
}

// Expire ends the term of a document in the trash of an archive. The error is KindNotFound if it is not
// there, KindForbidden if it is retained.
func (t *Trash) Expire(ctx context.Context, a Archive, id archive.ID, now time.Time) error {
	return a.change(ctx, func(e edit) error {
		d, err := t.held(ctx, e, id)
		if err != nil {
			return err
		}
		if d.Tenant != e.tenant {
			return notInTrash(id)
		}
		if !d.Law && !d.Erasing {
			if err := e.wantFree(ctx, d.document, now); err != nil {
				return err
			}
		}
		_, err = e.exec(ctx, "UPDATE trash SET due = ? WHERE id = ? AND due > ?", now.Unix(), id, now.Unix())
		return err
	})
}

// heldDocument is a document in the trash with what its retention depends on.
type heldDocument struct {
	Trashed
	digest   string
	document Document
}

// held returns a locked document.
func (t *Trash) held(ctx context.Context, e edit, id archive.ID) (d heldDocument, err error) {
	var text string
	err = e.row(ctx, "SELECT tenant, digest, law, erasing, reason, document FROM trash WHERE id = ?"+forUpdate, id).
		Scan(&d.Tenant, &d.digest, &d.Law, &d.Erasing, &d.Reason, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return d, notInTrash(id)
	}
	if err != nil || d.Erasing {
		return d, err
	}
	var rows []struct {
		Folder   archive.ID `json:"folder"`
		Archived *int64     `json:"archived"`
		Types    string     `json:"types"`
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows) != 1 {
		return d, fmt.Errorf("document %d in the trash is damaged: %w", id, err)
	}
	d.document.ID, d.document.Folder = id, rows[0].Folder
	if at := rows[0].Archived; at != nil {
		d.document.Archived = time.Unix(*at, 0)
	}
	return d, json.Unmarshal([]byte(rows[0].Types), &d.document.Types)
}

// Begin begins to erase a document whose term is over: it cannot be restored any more. It returns the
// digest of its content, which End expects to be removed unless something else refers to it. It is empty
// if the document is retained by a rule that is younger than its removal, and stays until that ends, or
// if it is not in the trash any more. Begin may be repeated.
func (t *Trash) Begin(ctx context.Context, id archive.ID, now time.Time) (digest string, err error) {
	err = t.write.change(ctx, func(tx changing) error {
		digest = ""
		e := edit{changing: tx, engine: t.engine}
		d, err := t.held(ctx, e, id)
		if archive.KindOf(err) == archive.KindNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		e.tenant = d.Tenant
		if !d.Law && !d.Erasing {
			_, until, err := e.retained(ctx, d.document)
			if err != nil {
				return err
			}
			if until.After(now) {
				_, err := e.exec(ctx, "UPDATE trash SET due = ? WHERE id = ?", until.Unix(), id)
				return err
			}
		}
		if err := e.blank(ctx, id); err != nil {
			return err
		}
		digest = d.digest
		return nil
	})
	return digest, err
}

// blank removes what a row in the trash and the audit trail of its document say.
func (e edit) blank(ctx context.Context, id archive.ID) error {
	if err := e.engine.secure(ctx, e); err != nil {
		return err
	}
	err := run(ctx, e, "erase document", "UPDATE trash SET erasing = TRUE, place = '', document = '', annotations = '' WHERE id = ?", id)
	if err != nil {
		return err
	}
	return run(ctx, e, "erase audit trail", `UPDATE audit SET key = '', was = '', became = CASE WHEN action = ?2 THEN became ELSE '' END
		WHERE document = ?1 OR document IN (SELECT former FROM audit AS later WHERE later.document = ?1 AND later.former IS NOT NULL)`,
		id, string(DocumentTrashed))
}

// End notes in the audit trail that a document is erased. It does nothing for one that is already.
func (t *Trash) End(ctx context.Context, id archive.ID) error {
	return t.write.change(ctx, func(tx changing) error {
		e := edit{changing: tx, engine: t.engine}
		err := e.row(ctx, "DELETE FROM trash WHERE id = ? AND erasing RETURNING tenant", id).Scan(&e.tenant)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("erase document: %w", err)
		}
		return e.record(ctx, Entry{Action: DocumentErased, Document: id})
	})
}

// Scrub removes erased texts from the database's own files as far as it can: SQLite merges its search
// indexes, piece by piece, and empties its write-ahead log. In PostgreSQL that is the vacuum's job.
func (t *Trash) Scrub(ctx context.Context) error { return t.scrub(ctx, t.write) }

// Retention is a rule: documents are kept for so long after they were archived.
type Retention struct {
	ID           int64
	Name         string // of its class
	Months, Days int
	Folder       archive.ID // they are in it or below it; 0: anywhere
	Type         string     // of this document type; empty: of any
}

// Retentions returns the rules of the archive, by their names.
func (t *Trash) Retentions(ctx context.Context, tenant TenantID) ([]Retention, error) {
	return retentions(ctx, t.read, tenant)
}

func retentions(ctx context.Context, q session, tenant TenantID) ([]Retention, error) {
	return collect(ctx, q, "list retention", func(row scanner) (r Retention, err error) {
		err = row.Scan(&r.ID, &r.Name, &r.Months, &r.Days, &r.Folder, &r.Type)
		return r, err
	}, "SELECT id, name, months, days, coalesce(folder, 0), type FROM retention WHERE tenant = ? ORDER BY name, id", tenant)
}

// AddRetention adds a rule. The error is KindNotFound for an unknown folder.
func (t *Trash) AddRetention(ctx context.Context, a Archive, r Retention) (id int64, err error) {
	err = a.change(ctx, func(e edit) error {
		if r.Folder != 0 {
			if _, err := findFolder(ctx, e, e.tenant, r.Folder); err != nil {
				return err
			}
		}
		err := e.row(ctx, "INSERT INTO retention (tenant, name, months, days, folder, type) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
			e.tenant, r.Name, r.Months, r.Days, optional(r.Folder), r.Type).Scan(&id)
		if err != nil {
			return fmt.Errorf("add retention: %w", err)
		}
		return e.record(ctx, Entry{Action: RetentionAdded, Folder: r.Folder, Became: r.String()})
	})
	return id, err
}

// RemoveRetention removes a rule. The error is KindNotFound if there is none.
func (t *Trash) RemoveRetention(ctx context.Context, a Archive, id int64) error {
	return a.change(ctx, func(e edit) error {
		rules, err := retentions(ctx, e, e.tenant)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(rules, func(r Retention) bool { return r.ID == id })
		if at < 0 {
			return refuse(archive.KindNotFound, "there is no retention rule %d", id)
		}
		if _, err := e.exec(ctx, "DELETE FROM retention WHERE id = ?", id); err != nil {
			return fmt.Errorf("remove retention: %w", err)
		}
		return e.record(ctx, Entry{Action: RetentionRemoved, Folder: rules[at].Folder, Was: rules[at].String()})
	})
}

// String is the rule for the audit trail.
func (r Retention) String() string {
	text := r.Name + " " + r.Term()
	if r.Type != "" {
		text += ", type " + r.Type
	}
	return text
}

// Term is the term, as 10y, 18m or 30d.
func (r Retention) Term() string {
	switch {
	case r.Days != 0:
		return fmt.Sprintf("%dd", r.Days)
	case r.Months%12 == 0:
		return fmt.Sprintf("%dy", r.Months/12)
	}
	return fmt.Sprintf("%dm", r.Months)
}

// retained returns the rule that holds a document longest, and when that ends; zero if none holds it.
// Documents in inboxes are not archived, and not held.
func (e edit) retained(ctx context.Context, d Document) (longest Retention, until time.Time, err error) {
	if d.Archived.IsZero() {
		return longest, until, nil
	}
	rules, err := retentions(ctx, e, e.tenant)
	if err != nil || len(rules) == 0 {
		return longest, until, err
	}
	lineage, err := findLineage(ctx, e, e.tenant, d.Folder)
	if err != nil {
		return longest, until, err
	}
	for _, r := range rules {
		within := r.Folder == 0 || slices.ContainsFunc(lineage, func(f Folder) bool { return f.ID == r.Folder })
		ofType := r.Type == "" || slices.ContainsFunc(d.Types, func(t string) bool { return strings.EqualFold(t, r.Type) })
		if end := d.Archived.AddDate(0, r.Months, r.Days); within && ofType && end.After(until) {
			longest, until = r, end
		}
	}
	return longest, until, nil
}

// wantFree returns an error if a document is retained beyond now.
func (e edit) wantFree(ctx context.Context, d Document, now time.Time) error {
	rule, until, err := e.retained(ctx, d)
	if err == nil && until.After(now) {
		err = refuse(archive.KindForbidden, "document %d is retained until %s (%s); only an erasure by law goes before that",
			d.ID, until.Format(time.DateOnly), rule)
	}
	return err
}
