package apiclient

import "github.com/archivefs/archivefs/archive"

// maxShared bounds how many texts one answer has kept once: those that differ in every
// document are not worth it.
const maxShared = 1024

// shared keeps texts that many documents of an answer have in common once.
type shared map[string]string

// document has a document share its texts with those before it.
func (s *shared) document(d *archive.Document) {
	d.ContentType = s.text(d.ContentType)
	for i := range d.Keywords {
		d.Keywords[i] = s.text(d.Keywords[i])
	}
	for i := range d.Metadata {
		d.Metadata[i].Key = s.text(d.Metadata[i].Key)
	}
}

// text is the same text, kept once.
func (s *shared) text(text string) string {
	if text == "" {
		return ""
	}
	if known, ok := (*s)[text]; ok {
		return known
	}
	if *s == nil {
		*s = shared{}
	}
	if len(*s) < maxShared {
		(*s)[text] = text
	}
	return text
}
