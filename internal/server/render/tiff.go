package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/tiff"

	"github.com/archivefs/archivefs/internal/server/inspect"
)

// maxTIFFPages bounds the pages that are rendered of one TIFF.
const maxTIFFPages = 500

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
	for _, frame := range frames {
		view := frameOf(data, frame)
		config, err := tiff.DecodeConfig(view())
		if err != nil {
			return nil, fmt.Errorf("read TIFF: %w", err)
		}
		if err := checkSize(config); err != nil {
			return nil, err
		}
		decoded, err := tiff.Decode(view())
		if err != nil {
			return nil, fmt.Errorf("read TIFF: %w", err)
		}
		if err := addDecoded(pdf, decoded, false); err != nil {
			return nil, err
		}
	}
	return pdf, nil
}

// frameOf returns readers of a TIFF whose header points to one of its images.
func frameOf(data []byte, frame uint32) func() io.Reader {
	header := slices.Clone(data[:8])
	inspect.TIFFOrder(header).PutUint32(header[4:], frame)
	return func() io.Reader {
		return io.NewSectionReader(reheaded{header: header, data: data}, 0, int64(len(data)))
	}
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
