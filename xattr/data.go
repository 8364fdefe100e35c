package xattr

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// pageNote is a note with its page number, from 1 on.
type pageNote struct {
	Page int `json:"page"`
	archive.Note
}

// pageStamp is a stamp with its page number, from 1 on.
type pageStamp struct {
	Page int `json:"page"`
	archive.Stamp
}

// Notes returns the notes of a document (specification, endpoint 8) as a JSON array, page by page:
// [{"page":1,"text":...,"date":...,"creator":...}]. The error wraps ErrTooBig if it is longer than
// MaxValue.
func Notes(data archive.DocumentData) ([]byte, error) {
	notes := []pageNote{}
	for i, p := range data.Pages {
		for _, n := range p.Notes {
			notes = append(notes, pageNote{Page: i + 1, Note: n})
		}
	}
	return encode(notes)
}

// Stamps returns the stamps of a document as Notes returns its notes:
// [{"page":1,"title":...,"text":...,"date":...,"creator":...}].
func Stamps(data archive.DocumentData) ([]byte, error) {
	stamps := []pageStamp{}
	for i, p := range data.Pages {
		for _, s := range p.Stamps {
			stamps = append(stamps, pageStamp{Page: i + 1, Stamp: s})
		}
	}
	return encode(stamps)
}

// Data returns the service's own JSON. The error wraps ErrTooBig if it is longer than MaxValue.
func Data(data archive.DocumentData) ([]byte, error) { return Sized(data.Raw) }

// encode writes v as JSON on one line. <, > and & are not escaped.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode document data: %w", err)
	}
	return Sized(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
