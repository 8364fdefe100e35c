package office

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

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
	left  int64                // bytes that may be unpacked
}

// openArchive reads the directory of an archive, of which unpacked bytes may be read.
func openArchive(r io.ReaderAt, size, unpacked int64) (*archive, error) {
	if size > maxArchive {
		return nil, fmt.Errorf("%w: it is too large", ErrUnreadable)
	}
	directory := &limited{r, maxDirectory}
	list, err := zip.NewReader(directory, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	directory.left = math.MaxInt64
	a := &archive{files: map[string]*zip.File{}, left: unpacked}
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
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	return strings.ToLower(path.Clean("/" + strings.ReplaceAll(name, `\`, "/"))[1:])
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
		for token := range tokens(content, &a.left) {
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
