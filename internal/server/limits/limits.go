// Package limits defines which names and texts an archive accepts, and how many.
package limits

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
)

// The longest names, in bytes.
const (
	maxFolderName   = 255
	maxDocumentName = 1024
)

// FolderName returns why a folder cannot have a name, empty if it can.
func FolderName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "required: a folder needs a name"
	case len(name) > maxFolderName:
		return fmt.Sprintf("longer than %d bytes", maxFolderName)
	case !utf8.ValidString(name):
		return "not UTF-8"
	case strings.ContainsRune(name, '/'):
		return "a slash separates folders and cannot be part of a name"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "contains a control character"
	}
	return ""
}

// DocumentName returns why a document cannot have a name, empty if it can. Nearly any name is valid.
func DocumentName(name string) string {
	switch {
	case name == "":
		return "required: a document needs a name"
	case len(name) > maxDocumentName:
		return fmt.Sprintf("longer than %d bytes", maxDocumentName)
	}
	return Text(name)
}

// The limits of the metadata of one document.
const (
	MaxEntries = store.MaxEntries
	MaxEntry   = 1024     // bytes of one of them, of a key, and of an external id
	maxValue   = 64 << 10 // bytes of a value of metadata
)

// Text returns why a text cannot be stored, empty if it can.
func Text(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "not UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "contains a NUL character"
	}
	return ""
}

// CheckText refuses a text that cannot be stored, or has more than most bytes.
func CheckText(what, s string, most int) error {
	if len(s) > most {
		return refusal.New(archive.KindTooLarge, "%s is longer than %s", what, Amount(int64(most)))
	}
	if wrong := Text(s); wrong != "" {
		return refusal.New(archive.KindInvalid, "%s: %s", what, wrong)
	}
	return nil
}

// Entries collects texts such as keywords, without repetitions.
type Entries struct {
	List []string
	seen map[string]bool
}

// Add adds an entry without surrounding blanks. An empty one is ignored.
func (e *Entries) Add(entry string) error {
	entry = strings.TrimSpace(entry)
	if entry == "" || e.seen[entry] {
		return nil
	}
	if len(e.List) == MaxEntries {
		return refusal.New(archive.KindTooLarge, "there are more than %d", MaxEntries)
	}
	if err := CheckText("one", entry, MaxEntry); err != nil {
		return err
	}
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.List, e.seen[entry] = append(e.List, entry), true
	return nil
}

// Metadata collects keys and values, in the order in which the keys are first set.
type Metadata struct {
	Pairs []archive.KeyValue
	at    map[string]int
}

// Set sets the value of a key, and replaces an earlier one.
func (m *Metadata) Set(key, value string) error {
	if err := CheckPair(key, value); err != nil {
		return err
	}
	if at, is := m.at[key]; is {
		m.Pairs[at].Value = value
		return nil
	}
	if len(m.Pairs) == MaxEntries {
		return refusal.New(archive.KindTooLarge, "there are more than %d", MaxEntries)
	}
	if m.at == nil {
		m.at = map[string]int{}
	}
	m.at[key] = len(m.Pairs)
	m.Pairs = append(m.Pairs, archive.KeyValue{Key: key, Value: value})
	return nil
}

// CheckPair refuses a key and a value that cannot be stored.
func CheckPair(key, value string) error {
	if err := CheckText("a key", key, MaxEntry); err != nil {
		return err
	}
	return CheckText("a value", value, maxValue)
}

// Amount formats a number of bytes for people, without rounding: 10 MiB, 10 MB or 10,000,001 bytes.
func Amount(limit int64) string {
	n := uint64(max(limit, 0))
	for _, text := range []string{humanize.IBytes(n), humanize.Bytes(n)} {
		if exact, err := humanize.ParseBytes(text); err == nil && exact == n {
			return text
		}
	}
	return humanize.Comma(limit) + " bytes"
}
