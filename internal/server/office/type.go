package office

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"io"
	"path"
	"regexp"
	"strings"
)

// Outlook is the media type of messages of Outlook.
const Outlook = "application/vnd.ms-outlook"

const (
	// maxDescribed is how much is unpacked to tell the type of a document, in bytes.
	maxDescribed = 4 << 20

	// flatXML ends the media types of OpenDocument in one XML file; the others have such types of their own.
	flatXML   = "-flat-xml"
	word2006  = "application/vnd.ms-word2006ml"
	word2003  = "application/vnd.ms-wordml"
	excel2003 = "application/vnd.ms-spreadsheetml"

	ooxml = "application/vnd.openxmlformats-officedocument."
)

// own matches the media types that documents may give themselves.
var own = regexp.MustCompile(`^application/(?:epub\+zip|vnd\.(?:oasis\.opendocument|openxmlformats-officedocument|sun\.xml|ms-(?:word|excel|powerpoint|visio))(?:\.\w+)+(?:-\w+)*)`)

// ownType is a type that a document gives itself, without ".main" of its main part; empty if it is another.
func ownType(said string) string {
	said = strings.TrimSuffix(own.FindString(strings.TrimSpace(said[:min(len(said), 128)])), ".main")
	if kind, _, is := strings.Cut(said, ".macroEnabled"); is {
		said = kind + ".macroEnabled.12"
	}
	return said
}

// Type returns the media type of an office document by its structure, empty if it has none that is known.
// head is its beginning.
func Type(r io.ReaderAt, size int64, head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		if a, err := openArchive(r, size, maxDescribed); err == nil {
			return a.media()
		}
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		c := openCompound(r, 4*maxDirectory)
		root := c.in(c.entry(0))
		for _, t := range compoundTypes {
			if root[t.stream] != nil {
				return t.media
			}
		}
	case bytes.HasPrefix(bytes.TrimLeft(head, "\xef\xbb\xbf\r\n\t "), []byte(`{\rtf`)):
		return "text/rtf"
	default:
		return flat(head)
	}
	return ""
}

// media is the type of a document in an archive.
func (a *archive) media() string {
	content := a.open("mimetype")
	defer func() { _ = content.Close() }()
	said, _ := io.ReadAll(io.LimitReader(content, 128))
	if media := ownType(string(said)); media != "" {
		return media
	}
	for t := range a.elements("meta-inf/manifest.xml") { // OpenDocument 1.2-3, 3.2
		if attribute(t, "full-path") == "/" {
			return ownType(attribute(t, "media-type"))
		}
	}
	name := a.main()
	if name == "" {
		return ""
	}
	media := a.partType(name)
	usual, is := usualTypes[path.Dir(name)]
	if is && !strings.HasPrefix(media, ooxml+usual.language) && !strings.HasPrefix(media, usual.old) {
		return ooxml + usual.language + usual.kind
	}
	return media
}

// usualTypes are the types of Office Open XML documents by the folder of the main part: language and kind,
// and how those with macros begin.
var usualTypes = map[string]struct{ language, kind, old string }{
	"word": {"wordprocessingml", ".document", "application/vnd.ms-word."},
	"xl":   {"spreadsheetml", ".sheet", "application/vnd.ms-excel."},
	"ppt":  {"presentationml", ".presentation", "application/vnd.ms-powerpoint."},
}

// main is the name of the part of an Office Open XML document that leads to the others.
func (a *archive) main() string {
	for _, r := range a.relations("") {
		if strings.HasSuffix(r.role, "document") {
			return r.to
		}
	}
	for _, name := range []string{"word/document.xml", "xl/workbook.xml", "xl/workbook.bin", "ppt/presentation.xml"} {
		if a.files[name] != nil {
			return name
		}
	}
	return ""
}

// partType is the media type of a document whose main part is name: that of the part without its end.
func (a *archive) partType(name string) (media string) {
	for t := range a.elements("[content_types].xml") {
		exact := clean(attribute(t, "PartName")) == name
		if exact || "."+attribute(t, "Extension") == path.Ext(name) {
			media = cmp.Or(ownType(attribute(t, "ContentType")), media)
		}
		if exact {
			break
		}
	}
	return media
}

// flat is the type of a document that is one XML file, by the element that it begins with.
func flat(head []byte) string {
	decoder := newDecoder(bytes.NewReader(head))
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		switch t := token.(type) {
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return ""
			}
		case xml.StartElement:
			switch t.Name.Space {
			case "urn:oasis:names:tc:opendocument:xmlns:office:1.0":
				if media := ownType(attribute(t, "mimetype")); media != "" {
					return media + flatXML
				}
			case "http://schemas.microsoft.com/office/2006/xmlPackage":
				return word2006
			case "http://schemas.microsoft.com/office/word/2003/wordml":
				return word2003
			case "urn:schemas-microsoft-com:office:spreadsheet":
				return excel2003
			}
			return ""
		}
	}
}

// compoundTypes are the types of compound files by a stream that only they have.
var compoundTypes = []struct{ stream, media string }{
	{fixedLength, Outlook},
	{"WordDocument", "application/msword"},
	{"Workbook", "application/vnd.ms-excel"},
	{"Book", "application/vnd.ms-excel"},
	{"PowerPoint Document", "application/vnd.ms-powerpoint"},
}
