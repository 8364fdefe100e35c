package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"

	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/poppler"
)

// errNoPage says that a picture has no page of that number.
var errNoPage = errors.New("there is no such page")

// Pictured reports whether previews are made of the content itself; those of anything else are
// made of its PDF.
func Pictured(s Source) bool {
	switch class(s) {
	case "pdf", "image", "tiff":
		return true
	}
	return false
}

// Preview returns a page of a PDF or a picture, counted from 0, as a JPEG that fits into the
// box. It is never larger than the picture; that of a PDF has at most poppler.MostSide pixels to
// a side. It is nil when there is no such page, or none that can be read in time. The error of a PDF is
// poppler.ErrMissing where nothing can draw it.
func Preview(ctx context.Context, s Source, page, width, height int) ([]byte, error) {
	if class(s) == "pdf" {
		return previewPDF(ctx, s.Content, page, width, height)
	}
	data, err := io.ReadAll(io.LimitReader(s.Content, maxSource))
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	decoded, err := decodePage(class(s), data, page)
	if err != nil {
		return nil, nil // what cannot be read has no preview
	}
	return encodeFitted(decoded, width, height)
}

// previewPDF draws a page. The program knows square boxes only.
func previewPDF(ctx context.Context, pdf io.Reader, page, width, height int) ([]byte, error) {
	picture, err := poppler.Page(ctx, pdf, page, max(width, height))
	if errors.Is(err, poppler.ErrUnreadable) || errors.Is(err, poppler.ErrTooSlow) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if c, err := jpeg.DecodeConfig(bytes.NewReader(picture)); err == nil && c.Width <= width && c.Height <= height {
		return picture, nil
	}
	decoded, err := jpeg.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, nil // a page that was drawn as no picture was not drawn
	}
	return encodeFitted(decoded, width, height)
}

func encodeFitted(m image.Image, width, height int) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, onWhite(fitted(m, width, height)), &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("encode preview: %w", err)
	}
	return b.Bytes(), nil
}

// decodePage reads a page of a picture, as it is to be seen. A decoder that panics, as strangers may
// make one do, has not read it.
func decodePage(class string, data []byte, page int) (m image.Image, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errUnreadable, cause)
		}
	}()
	if class == "tiff" {
		return decodeFrame(data, page)
	}
	if page > 0 {
		return nil, errNoPage
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil {
		err = checkSize(c)
	}
	if err != nil {
		return nil, err
	}
	if m, _, err = image.Decode(bytes.NewReader(data)); err != nil || format != "jpeg" {
		return m, err
	}
	return turned(m, jpegOrientation(data)), nil
}

// decodeFrame reads a page of a TIFF.
func decodeFrame(data []byte, page int) (image.Image, error) {
	file := bytes.NewReader(data)
	frames := inspect.TIFFFrames(file)
	if page >= len(frames) {
		return nil, errNoPage
	}
	view, err := frameOf(data, frames[page])
	if err != nil {
		return nil, err
	}
	c, err := tiff.DecodeConfig(view())
	if err == nil {
		err = checkSize(c)
	}
	if err != nil {
		return nil, err
	}
	m, err := tiff.Decode(view())
	if err != nil {
		return nil, err
	}
	return turned(m, inspect.TIFFOrientation(file, frames[page])), nil
}

// fitted is the picture, made smaller where it does not fit into the box.
func fitted(m image.Image, width, height int) image.Image {
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	if w <= width && h <= height {
		return m
	}
	if w*height > h*width {
		height = max(1, h*width/w)
	} else {
		width = max(1, w*height/h)
	}
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(small, small.Bounds(), image.White, image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(small, small.Bounds(), m, m.Bounds(), draw.Over, nil)
	return small
}
