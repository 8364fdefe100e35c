package apiclient

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

var errNoID = errors.New("the id is missing")

// requireID refuses to address a folder or document without an id.
func requireID(op Operation, id archive.ID) error {
	if id == 0 {
		return &archive.Error{Op: string(op), Kind: archive.KindInvalid, Err: errNoID}
	}
	return nil
}

// requireText refuses what JSON and forms could only send altered.
func requireText(op Operation, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return &archive.Error{
				Op: string(op), Kind: archive.KindInvalid,
				Err: fmt.Errorf("%q is not UTF-8", text),
			}
		}
	}
	return nil
}

// texts returns the keys and values of entries.
func texts(entries []archive.KeyValue) []string {
	all := make([]string, 0, 2*len(entries))
	for _, e := range entries {
		all = append(all, e.Key, e.Value)
	}
	return all
}
