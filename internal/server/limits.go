package server

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// The longest names, in bytes.
const (
	maxFolderName   = 255
	maxDocumentName = 1024
)

// folderNameFault says why a name cannot be a component of a folder path, nothing when
// it can.
func folderNameFault(name string) string {
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

// documentNameFault says why a document cannot have a name, nothing when it can; nearly
// any will do.
func documentNameFault(name string) string {
	switch {
	case name == "":
		return "required: a document needs a name"
	case len(name) > maxDocumentName:
		return fmt.Sprintf("longer than %d bytes", maxDocumentName)
	}
	return textFault(name)
}

// What may be said about one document.
const (
	maxEntries = store.MaxEntries
	maxEntry   = 1024     // bytes of one of them, of a key, and of an external id
	maxValue   = 64 << 10 // bytes of a value of metadata
)

// textFault says why a text cannot be kept, nothing when it can.
func textFault(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "not UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "contains a NUL character"
	}
	return ""
}

// checkText refuses a text that cannot be kept, or has more than so many bytes.
func checkText(what, s string, most int) error {
	if len(s) > most {
		return refuse(archive.KindTooLarge, "%s is longer than %s", what, amount(int64(most)))
	}
	if wrong := textFault(s); wrong != "" {
		return refuse(archive.KindInvalid, "%s: %s", what, wrong)
	}
	return nil
}

// entries collects things that are said about a document, each once.
type entries struct {
	list []string
	seen map[string]bool
}

// add adds an entry without the blanks around it; an empty one is none.
func (e *entries) add(entry string) error {
	entry = strings.TrimSpace(entry)
	if entry == "" || e.seen[entry] {
		return nil
	}
	if len(e.list) == maxEntries {
		return refuse(archive.KindTooLarge, "there are more than %d", maxEntries)
	}
	if err := checkText("one", entry, maxEntry); err != nil {
		return err
	}
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.list, e.seen[entry] = append(e.list, entry), true
	return nil
}

// metadata collects keys and values in the order of the keys. Of a key that is repeated the last
// value counts.
type metadata struct {
	pairs []archive.KeyValue
	at    map[string]int
}

func (m *metadata) set(key, value string) error {
	if err := checkPair(key, value); err != nil {
		return err
	}
	if at, is := m.at[key]; is {
		m.pairs[at].Value = value
		return nil
	}
	if len(m.pairs) == maxEntries {
		return refuse(archive.KindTooLarge, "there are more than %d", maxEntries)
	}
	if m.at == nil {
		m.at = map[string]int{}
	}
	m.at[key] = len(m.pairs)
	m.pairs = append(m.pairs, archive.KeyValue{Key: key, Value: value})
	return nil
}

func checkPair(key, value string) error {
	if err := checkText("a key", key, maxEntry); err != nil {
		return err
	}
	return checkText("a value", value, maxValue)
}

// amount says how many bytes a limit is, for people: exactly, as who set it would.
func amount(limit int64) string {
	n := uint64(max(limit, 0))
	for _, text := range []string{humanize.IBytes(n), humanize.Bytes(n)} {
		if told, err := humanize.ParseBytes(text); err == nil && told == n {
			return text
		}
	}
	return humanize.Comma(limit) + " bytes"
}
