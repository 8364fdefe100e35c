package server

import (
	"bytes"
	"encoding/json"

	"github.com/archivefs/archivefs/archive"
)

// metadataGet answers GET /document/{id}/metadata.
func metadataGet(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	d, err := r.catalog.Document(r.Context(), id)
	if err != nil {
		return blame("id", err)
	}
	return w.json(metadataObject(d.Metadata))
}

// metadataSet answers POST /document/{id}/metadata: keys that are not named stay as they
// are, null removes a key.
func metadataSet(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	var change metadataChange
	if err := jsonBody(w, r, &change, "a JSON object of strings"); err != nil {
		return err
	}
	if err := checkChange(change); err != nil {
		return fieldErrors{{name: "metadata", err: err}}
	}
	ctx := r.detached()
	err = r.catalog.SetMetadata(ctx, id, change)
	if archive.KindOf(err) == archive.KindTooLarge {
		return blame("metadata", err)
	}
	if err != nil {
		return blame("id", err)
	}
	w.empty()
	return nil
}

// metadataChange are the new values of metadata, null for a key that is removed.
type metadataChange map[string]*string

// UnmarshalJSON implements json.Unmarshaler. A key that is there twice is KindInvalid.
func (c *metadataChange) UnmarshalJSON(body []byte) error {
	if err := json.Unmarshal(body, (*map[string]*string)(c)); err != nil || *c == nil {
		return err
	}
	tokens := 0
	for d := json.NewDecoder(bytes.NewReader(body)); ; tokens++ {
		if _, err := d.Token(); err != nil {
			break
		}
	}
	if tokens != len(*c)*2+2 { // keys, values, braces
		return invalid("metadata", "a key is given more than once")
	}
	return nil
}

// checkChange refuses metadata that cannot be kept.
func checkChange(change metadataChange) error {
	if len(change) > maxEntries {
		return refuse(archive.KindTooLarge, "there are more than %d", maxEntries)
	}
	for key, value := range change {
		if key == "" {
			return refuse(archive.KindInvalid, "a key is empty")
		}
		text := ""
		if value != nil {
			text = *value
		}
		if err := checkPair(key, text); err != nil {
			return err
		}
	}
	return nil
}

// keywordsSet answers POST /document/{id}/keywords: the array replaces the keywords.
func keywordsSet(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	const shape = "a JSON array of strings"
	var given []*string
	if err := jsonBody(w, r, &given, shape); err != nil {
		return err
	}
	var keywords entries
	for _, text := range given {
		if text == nil {
			return refuse(archive.KindInvalid, "the body must be %s", shape)
		}
		if err := keywords.add(*text); err != nil {
			return fieldErrors{{name: "keywords", err: err}}
		}
	}
	ctx := r.detached()
	if err := r.catalog.SetKeywords(ctx, id, keywords.list); err != nil {
		return blame("id", err)
	}
	w.empty()
	return nil
}

// documentRename answers POST /document/{id}/rename.
func documentRename(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	p, err := form(w, r)
	if err != nil {
		return err
	}
	name := p.documentName("new-name", "")
	if err := p.err(); err != nil {
		return err
	}
	ctx := r.detached()
	if err := r.catalog.SetName(ctx, id, name); err != nil {
		return blame("id", err)
	}
	w.empty()
	return nil
}
