package apiclient

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// idAnswer is what an operation answers that creates something.
type idAnswer struct {
	ID         scalar `json:"id"`
	DocumentID scalar `json:"document-id"`
	CamelID    scalar `json:"documentId"`
	FolderID   scalar `json:"folder-id"`
	Name       scalar `json:"name"`
}

// parseID reads the id from an answer: a decimal number as text or JSON, an object that
// has it, or an array that begins with one of these. The specification describes no
// body for an upload, so an answer without an id is none (0) and no error; one that
// begins as JSON and breaks is an error.
func parseID(text []byte) (archive.ID, error) {
	answer, err := parseIDAnswer(text)
	return answer.id(), err
}

func parseIDAnswer(text []byte) (idAnswer, error) {
	text = bytes.TrimSpace(trimBOM(text))
	if len(text) == 0 {
		return idAnswer{}, nil
	}
	switch text[0] {
	case '{', '"':
	case '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(text, &elements); err != nil || len(elements) == 0 {
			return idAnswer{}, err
		}
		if text = elements[0]; text[0] == '[' {
			return idAnswer{}, nil
		}
	default: // a number, or a word such as OK
		return idAnswer{ID: scalar{text: string(text), set: true}}, nil
	}
	var answer idAnswer
	if text[0] == '{' {
		return answer, lenient(json.Unmarshal(text, &answer))
	}
	return answer, json.Unmarshal(text, &answer.ID)
}

// id returns the id that a tells, 0 without one. Only decimal digits count: the text
// of an answer may be anything.
func (a idAnswer) id() archive.ID {
	for _, s := range []scalar{a.ID, a.DocumentID, a.CamelID, a.FolderID} {
		if id, err := strconv.ParseInt(strings.TrimSpace(s.text), 10, 64); err == nil && id > 0 {
			return archive.ID(id)
		}
	}
	return 0
}
