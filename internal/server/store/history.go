package store

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// Entry is a change in the audit trail.
type Entry struct {
	ID       int64
	At       time.Time
	User     string     // empty for changes by the program itself, and with a key without a user
	Document archive.ID // 0 for a folder
	Former   archive.ID // the id of an archived document in its inbox, else 0
	Folder   archive.ID // the created folder, or the inbox folder of an archived document, else 0
	Action   Action
	Key      string // of metadata
	// Was and Became are the values before and after, of at most maxValue bytes. Keywords are a JSON
	// array, contents their SHA-256.
	Was, Became string
}

// Action is what was done.
type Action string

// The actions.
const (
	Renamed          Action = "name"
	KeywordsSet      Action = "keywords"
	MetadataSet      Action = "metadata"
	AutoExportSet    Action = "auto-export"
	DocumentArchived Action = "archive"
	ContentReplaced  Action = "replace"
	DocumentRemoved  Action = "delete"
	FolderCreated    Action = "create-folder"
	DocumentTrashed  Action = "trash"
	DocumentRestored Action = "restore"
	DocumentErased   Action = "erase"
	RetentionAdded   Action = "add-retention"
	RetentionRemoved Action = "remove-retention"
)

// maxValue is how much of a value is recorded, in bytes.
const maxValue = 4 << 10

const insertEntry = `INSERT INTO audit (tenant, at, who, document, former, folder, action, key, was, became)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// record adds entries to the audit trail, in the transaction of the changes.
func (e edit) record(ctx context.Context, entries ...Entry) error {
	for _, entry := range entries {
		if err := run(ctx, e, "record change", insertEntry, e.tenant, time.Now().Unix(), bounded(e.user), optional(entry.Document), optional(entry.Former),
			optional(entry.Folder), string(entry.Action), bounded(entry.Key), bounded(entry.Was), bounded(entry.Became)); err != nil {
			return err
		}
	}
	return nil
}

// bounded makes a text storable: it replaces invalid characters and cuts off a text that is too long.
func bounded(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) <= maxValue {
		return text
	}
	const more = "…"
	end := maxValue - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// differences returns an entry for each changed metadatum of a document.
func differences(before, after Document) ([]Entry, error) {
	entries := []Entry{
		{Action: Renamed, Was: before.Name, Became: after.Name},
		{Action: AutoExportSet, Was: strconv.FormatBool(before.AutoExport), Became: strconv.FormatBool(after.AutoExport)},
	}
	was, err := encodeStrings(before.Keywords)
	if err != nil {
		return nil, err
	}
	became, err := encodeStrings(after.Keywords)
	if err != nil {
		return nil, err
	}
	entries = append(entries, Entry{Action: KeywordsSet, Was: was, Became: became})
	seen := map[string]bool{}
	for _, pair := range append(before.Metadata[:len(before.Metadata):len(before.Metadata)], after.Metadata...) {
		if !seen[pair.Key] {
			entries = append(entries, Entry{Action: MetadataSet, Key: pair.Key, Was: valueOf(before, pair.Key), Became: valueOf(after, pair.Key)})
		}
		seen[pair.Key] = true
	}
	changed := entries[:0]
	for _, e := range entries {
		if e.Was != e.Became {
			e.Document = after.ID
			changed = append(changed, e)
		}
	}
	return changed, nil
}

// valueOf is the value of a metadata key, or all values of a repeated key, one a line.
func valueOf(d Document, key string) string {
	var values []string
	for _, pair := range d.Metadata {
		if pair.Key == key {
			values = append(values, pair.Value)
		}
	}
	return strings.Join(values, "\n")
}

// place is the path of a document in a folder, for people.
func (e edit) place(ctx context.Context, folder archive.ID, name string) (string, error) {
	lineage, err := findLineage(ctx, e, e.tenant, folder)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if lineage[0].Inbox {
		b.WriteString("INBOX")
	}
	for _, f := range lineage {
		b.WriteString("/" + f.Name)
	}
	return b.String() + "/" + name, nil
}

const entryColumns = "id, at, who, coalesce(document, 0), coalesce(former, 0), coalesce(folder, 0), action, key, was, became"

// History returns the last changes of a document, including those from before it was archived, the latest first.
func (a Archive) History(ctx context.Context, id archive.ID, limit int) ([]Entry, error) {
	return a.entries(ctx, `WITH RECURSIVE line (id) AS (
		SELECT CAST(? AS BIGINT) UNION
		SELECT audit.former FROM line JOIN audit ON audit.document = line.id WHERE audit.former IS NOT NULL)
		SELECT `+entryColumns+` FROM audit WHERE document IN (SELECT id FROM line) AND +tenant = ?
		ORDER BY id DESC LIMIT ?`, id, a.tenant, limit)
}

func (a Archive) entries(ctx context.Context, query string, args ...any) ([]Entry, error) {
	return collect(ctx, a.read, "read audit trail", func(row scanner) (e Entry, err error) {
		var at int64
		err = row.Scan(&e.ID, &at, &e.User, &e.Document, &e.Former, &e.Folder, &e.Action, &e.Key, &e.Was, &e.Became)
		e.At = time.Unix(at, 0)
		return e, err
	}, query, args...)
}
