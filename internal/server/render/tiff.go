package render

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"codeberg.org/go-pdf/fpdf"

	"github.com/archivefs/archivefs/internal/server/inspect"
)

// What is rendered of one TIFF. Its pages may share their pixels, so that a small file can ask
// for much.
const (
	maxTIFFPages  = 500
	maxTIFFPixels = 2 << 30   // 500 pages of a facsimile
	maxTIFFBytes  = 256 << 20 // of the images in the PDF
)

// tiffPages makes a page of each image of a TIFF. The decoder reads the first image
// only, so it is given the file once for each with the header pointing there.
func tiffPages(r io.Reader) (*fpdf.Fpdf, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSource))
	if err != nil {
		return nil, err
	}
	pdf := newPDF()
	frames := inspect.TIFFFrames(bytes.NewReader(data))
	if len(frames) == 0 || len(frames) > maxTIFFPages {
		return nil, errors.New("read TIFF: no pages, or too many")
	}
	pixels, left := int64(0), maxTIFFBytes
	for page := range frames {
		decoded, err := decodePage("tiff", data, page)
		if err != nil {
			return nil, err
		}
		size := decoded.Bounds().Size()
		if pixels += int64(size.X) * int64(size.Y); pixels > maxTIFFPixels {
			return nil, errors.New("read TIFF: too many pixels")
		}
		bytes, err := addDecoded(pdf, decoded, false)
		if err != nil {
			return nil, err
		}
		if left -= bytes; left < 0 {
			return nil, errors.New("read TIFF: too many bytes")
		}
	}
	return pdf, nil
}

// frameOf returns readers of a TIFF whose header points to one of its images.
func frameOf(data []byte, frame int64) (func() io.Reader, error) {
	header := slices.Clone(data[:8])
	order := inspect.TIFFOrder(header)
	if order == nil {
		return nil, errors.New("read TIFF: offsets of 64 bits")
	}
	order.PutUint32(header[4:], uint32(frame)) //nolint:gosec // it was read from 32 bits
	return func() io.Reader {
		return io.NewSectionReader(reheaded{header: header, data: data}, 0, int64(len(data)))
	}, nil
}

// reheaded is data with another beginning.
type reheaded struct{ header, data []byte }

// ReadAt implements io.ReaderAt.
func (r reheaded) ReadAt(p []byte, off int64) (int, error) {
	n, err := bytes.NewReader(r.data).ReadAt(p, off)
	if off < int64(len(r.header)) {
		copy(p[:n], r.header[off:])
	}
	return n, err
}
