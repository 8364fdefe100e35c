package apiclient

import (
	"strings"

	"github.com/archivefs/archivefs/archive"
)

var (
	listEscaper     = strings.NewReplacer(`\`, `\\`, `,`, `\,`)
	metadataEscaper = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`)
)

// EscapeList writes keywords, document types or metadata keys as one field: separated
// by commas, a comma or backslash within an item after a backslash. Empty items are
// left out.
func EscapeList(items []string) string {
	var b strings.Builder
	for _, item := range items {
		if item == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(listEscaper.Replace(item))
	}
	return b.String()
}

// EscapeMetadata writes external metadata as one field: key1=value1,key2=value2, with a
// comma, equals sign or backslash after a backslash. Entries without a key are left out.
func EscapeMetadata(entries []archive.KeyValue) string {
	var b strings.Builder
	for _, e := range entries {
		if e.Key == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(metadataEscaper.Replace(e.Key) + "=" + metadataEscaper.Replace(e.Value))
	}
	return b.String()
}

// splitList undoes EscapeList. Blanks around an item do not belong to it.
func splitList(text string) []string {
	var items []string
	var item strings.Builder
	flush := func() {
		if s := strings.TrimSpace(item.String()); s != "" {
			items = append(items, s)
		}
		item.Reset()
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			item.WriteByte(text[i])
		case c == ',':
			flush()
		default:
			item.WriteByte(c)
		}
	}
	flush()
	return items
}
