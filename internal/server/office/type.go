package office

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/url"
	"path"
	"regexp"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// The media types of messages of Outlook, and of books (EPUB), which no program here lays out.
const (
	Outlook = "application/vnd.ms-outlook"
	Book    = "application/epub+zip"
)

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
		left := int64(maxDescribed)
		if a, err := openArchive(r, size, &left); err == nil {
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

// begins reports whether the main part of a document of that type begins as XML, or need not.
func (a *archive) begins(media string) bool {
	name := a.main()
	if strings.HasPrefix(media, "application/vnd.oasis.") || strings.HasPrefix(media, "application/vnd.sun.") {
		name = "content.xml"
	}
	for range a.elements(name) {
		return true
	}
	return path.Ext(name) == ".bin"
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

const (
	// maxArchive is the largest archive that is opened, in bytes: package zip makes room for as many files
	// as a small one could have, in a quarter of it.
	maxArchive = 256 << 20
	// maxDirectory is the largest directory of an archive, in bytes, with what else is read to find it: some
	// 10,000 files.
	maxDirectory = 1<<20 + 80<<10
)

// archive is an office document as a zip archive.
type archive struct {
	files map[string]*zip.File // by their names, as clean makes them
	left  *int64               // bytes that may be unpacked
}

// openArchive reads the directory of an archive, of which so many bytes may be unpacked.
func openArchive(r io.ReaderAt, size int64, left *int64) (*archive, error) {
	if size > maxArchive {
		return nil, fmt.Errorf("%w: it is too large", ErrUnreadable)
	}
	directory := &limited{r, maxDirectory}
	list, err := zip.NewReader(directory, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	directory.left = math.MaxInt64
	a := &archive{files: map[string]*zip.File{}, left: left}
	for _, f := range list.File {
		a.files[clean(f.Name)] = f
	}
	return a, nil
}

// limited is a reader of which so many bytes may be read.
type limited struct {
	io.ReaderAt
	left int64
}

// ReadAt implements io.ReaderAt.
func (l *limited) ReadAt(p []byte, off int64) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errors.New("its directory is too large")
	}
	return l.ReaderAt.ReadAt(p, off)
}

// clean is the name by which a file is found, in lower case and from the top: programs write it in other
// cases (ECMA-376-2, 6.2.2.3), with backslashes, or with a slash in front.
func clean(name string) string {
	unescaped, _ := url.PathUnescape(name)
	return strings.ToLower(path.Clean("/" + strings.ReplaceAll(cmp.Or(unescaped, name), `\`, "/"))[1:])
}

// open opens a file of the archive. One that is missing or cannot be read is empty.
func (a *archive) open(name string) io.ReadCloser {
	if f := a.files[name]; f != nil {
		if content, err := f.Open(); err == nil {
			return content
		}
	}
	return io.NopCloser(strings.NewReader(""))
}

// elements are the elements of an XML file that begin.
func (a *archive) elements(name string) iter.Seq[xml.StartElement] {
	return func(yield func(xml.StartElement) bool) {
		content := a.open(name)
		defer func() { _ = content.Close() }()
		for token := range tokens(content, a.left) {
			if t, is := token.(xml.StartElement); is && !yield(t) {
				return
			}
		}
	}
}

// relation leads from a part of an Office Open XML document to another (ECMA-376-2, 6.5).
type relation struct {
	id   string
	role string // the last word of its type, in lower case: the words before it vary
	to   string
}

// relations are those of a part, or of the whole document if the name is empty, the first to each other part.
func (a *archive) relations(of string) (list []relation) {
	dir, file := path.Split(of)
	seen := map[string]bool{}
	for t := range a.elements(dir + "_rels/" + file + ".rels") {
		to := attribute(t, "Target")
		if strings.IndexAny(to, `/\`) != 0 {
			to = dir + to
		}
		if to = clean(to); a.files[to] != nil && !seen[to] {
			seen[to] = true
			list = append(list, relation{attribute(t, "Id"), strings.ToLower(path.Base(attribute(t, "Type"))), to})
		}
	}
	return list
}

// tokens are those of XML, up to its end, the first error in it, or the limit of bytes.
func tokens(content io.Reader, left *int64) iter.Seq[xml.Token] {
	return func(yield func(xml.Token) bool) {
		decoder := newDecoder(&counted{content, left})
		for {
			if token, err := decoder.RawToken(); err != nil || !yield(token) {
				return
			}
		}
	}
}

// newDecoder decodes XML in any character set that it declares, or UTF-16 with a byte order mark.
func newDecoder(content io.Reader) *xml.Decoder {
	decoder := xml.NewDecoder(transform.NewReader(content, unicode.BOMOverride(transform.Nop)))
	decoder.Strict = false
	decoder.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if strings.HasPrefix(strings.ToLower(label), "utf-16") { // known by its mark
			return in, nil
		}
		return charset.NewReaderLabel(label, in)
	}
	return decoder
}

// counted is a reader that ends when the limit for unpacked bytes is reached.
type counted struct {
	io.Reader
	left *int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	if *c.left <= 0 {
		return 0, io.EOF
	}
	n, err := c.Reader.Read(p)
	*c.left -= int64(n)
	return n, err
}

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
