// Package thumbnail writes into the cache of thumbnails that the file managers of a user share
// (Thumbnail Managing Standard 0.9, freedesktop.org).
package thumbnail

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the names of thumbnails, as the standard has them
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/image/draw"
)

// Largest is the longest side in pixels of the largest thumbnail that is written.
const Largest = 256

// sizes are the directories of the cache, and the longest side in pixels of what is in them.
var sizes = []struct {
	dir  string
	side int
}{{"large", Largest}, {"normal", 128}}

// Cache is a user's cache.
type Cache struct {
	dir     string
	program string // that makes the thumbnails
}

// Open returns the cache of the user of this process. There is none without a home directory.
func Open(program string) (Cache, error) {
	dir, err := os.UserCacheDir()
	return Cache{filepath.Join(dir, "thumbnails"), program}, err
}

// URI is the address of a file by its absolute path, as file managers write it (RFC 8089).
func URI(path string) string {
	var b strings.Builder
	b.WriteString("file://")
	for i := range len(path) {
		if c := path[i]; 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/-_.~!$&'()*+,:=@", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Has reports whether there are thumbnails of the file that was changed last at mtime.
func (c Cache) Has(uri string, mtime time.Time) bool {
	for _, s := range sizes {
		f, err := os.Open(c.path(s.dir, uri))
		if err != nil {
			return false
		}
		got, err := readTexts(f)
		_ = f.Close() // read only
		if err != nil || got[keyURI] != uri || got[keyTime] != seconds(mtime) {
			return false
		}
	}
	return true
}

// Made reports whether there is a thumbnail of the file that this program has made, whatever the file was then.
func (c Cache) Made(uri string) bool {
	for _, s := range sizes {
		if c.made(c.path(s.dir, uri), uri) {
			return true
		}
	}
	return false
}

// Remove removes the thumbnails of a file that this program has made.
func (c Cache) Remove(uri string) error {
	var failed []error
	for _, s := range sizes {
		if path := c.path(s.dir, uri); c.made(path, uri) {
			failed = append(failed, os.Remove(path))
		}
	}
	return errors.Join(failed...)
}

func (c Cache) made(path, uri string) bool {
	f, err := os.Open(path) //nolint:gosec // in the cache
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // read only
	got, err := readTexts(f)
	return err == nil && got[keyURI] == uri && got[keyProgram] == c.program
}

// Put writes the thumbnails of a file that was changed last at mtime. A picture is made smaller where it has to be.
func (c Cache) Put(uri string, mtime time.Time, picture image.Image) error {
	for _, s := range sizes {
		var b bytes.Buffer
		if err := png.Encode(&b, within(picture, s.side)); err != nil {
			return fmt.Errorf("thumbnail: %w", err)
		}
		dir := filepath.Join(c.dir, s.dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("thumbnail: %w", err)
		}
		texts := [][2]string{{keyURI, uri}, {keyTime, seconds(mtime)}, {keyProgram, c.program}}
		if err := replace(c.path(s.dir, uri), withTexts(b.Bytes(), texts)); err != nil {
			return fmt.Errorf("thumbnail: %w", err)
		}
	}
	return nil
}

func (c Cache) path(dir, uri string) string {
	sum := md5.Sum([]byte(uri)) //nolint:gosec // as above
	return filepath.Join(c.dir, dir, hex.EncodeToString(sum[:])+".png")
}

func seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// within returns a picture with sides of at most that many pixels.
func within(picture image.Image, side int) image.Image {
	size := picture.Bounds().Size()
	longest := max(size.X, size.Y)
	if longest <= side {
		return picture
	}
	small := image.NewRGBA(image.Rect(0, 0, max(1, size.X*side/longest), max(1, size.Y*side/longest)))
	draw.ApproxBiLinear.Scale(small, small.Bounds(), picture, picture.Bounds(), draw.Src, nil)
	return small
}

// replace writes a file at once, so that nobody sees half of it. It need not survive a crash.
func replace(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".archivefs-")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// The texts of a thumbnail that tell which file it is of.
const (
	keyURI     = "Thumb::URI"
	keyTime    = "Thumb::MTime" // seconds since 1970
	keyProgram = "Software"
)

// A PNG is a signature and chunks: length of the data, type, data, checksum of type and data (RFC 2083).
const (
	signature = "\x89PNG\r\n\x1a\n"
	headEnd   = 8 + 12 + 13 // where the first chunk, IHDR, ends
	textType  = "tEXt"      // keyword, NUL, Latin-1
	maxText   = 64 << 10    // bytes of a text that is read
	dataType  = "IDAT"      // the picture, before which the texts stand
)

// withTexts puts texts into a PNG. Keywords and texts are ASCII.
func withTexts(b []byte, texts [][2]string) []byte {
	out := append([]byte{}, b[:headEnd]...)
	for _, t := range texts {
		body := textType + t[0] + "\x00" + t[1]
		out = binary.BigEndian.AppendUint32(out, uint32(len(body)-len(textType))) //nolint:gosec // a short text
		out = append(out, body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE([]byte(body)))
	}
	return append(out, b[headEnd:]...)
}

// readTexts reads the texts before the picture of a PNG.
func readTexts(r io.Reader) (map[string]string, error) {
	head := make([]byte, len(signature))
	if _, err := io.ReadFull(r, head); err != nil || string(head) != signature {
		return nil, errors.New("no PNG")
	}
	texts := map[string]string{}
	for head = make([]byte, 8); ; {
		if _, err := io.ReadFull(r, head); err != nil {
			return nil, err
		}
		n, kind := int64(binary.BigEndian.Uint32(head)), string(head[4:])
		if kind == dataType {
			return texts, nil
		}
		if n > maxText {
			return nil, errors.New("a chunk is too long")
		}
		body := make([]byte, n+4)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		if key, text, ok := strings.Cut(string(body[:n]), "\x00"); ok && kind == textType {
			texts[key] = text
		}
	}
}
