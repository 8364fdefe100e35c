package render

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decoded when a GIF comes
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strconv"

	"codeberg.org/go-pdf/fpdf"
	_ "golang.org/x/image/bmp" // decoded when a BMP comes
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	_ "golang.org/x/image/webp" // decoded when a WebP comes

	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/poppler"
)

const (
	// maxPixels is the largest image that is decoded; A4 at 600 dpi has 35 million. With 16 bits per
	// colour it is half as many.
	maxPixels = 64 << 20
	pageWidth = 210  // of an image's page, in mm; the height follows the image
	maxSide   = 5000 // of an image's page, in mm, which viewers can show (ISO 32000-1, C.2)
	minSide   = 1    // of an image's page, in mm
	quality   = 90   // of re-encoded photographs
)

// imagePage makes a page of an image. A JPEG is embedded as it is, unless it must be turned, or is CMYK,
// which programs show differently.
func imagePage(r io.Reader) (*fpdf.Fpdf, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSource))
	if err != nil {
		return nil, err
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read image: %w", err)
	}
	if err := checkSize(config); err != nil {
		return nil, err
	}
	pdf := newPDF()
	if format == "jpeg" && config.ColorModel != color.CMYKModel && jpegOrientation(data) == 1 {
		return pdf, addImage(pdf, "JPG", data, config.Width, config.Height)
	}
	decoded, err := decodePage("image", data, 0)
	if err != nil {
		return nil, err
	}
	_, err = addDecoded(pdf, decoded, format == "png")
	return pdf, err
}

// checkSize refuses an image that would take too much memory.
func checkSize(config image.Config) error {
	pixel := int64(1)
	switch config.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model, color.Gray16Model:
		pixel = 2
	}
	if config.Width <= 0 || config.Height <= 0 || int64(config.Width) > maxPixels/int64(config.Height)/pixel {
		return fmt.Errorf("image of %d x %d pixels is too large", config.Width, config.Height)
	}
	return nil
}

// addDecoded adds a page, and returns how many bytes its image takes. Scans in black and white and
// images from lossless formats are encoded without loss.
func addDecoded(pdf *fpdf.Fpdf, decoded image.Image, lossless bool) (int, error) {
	switch decoded.(type) {
	case *image.Gray, *image.Paletted:
		lossless = true
	}
	var encoded bytes.Buffer
	format, encode := "JPG", func() error { return jpeg.Encode(&encoded, onWhite(decoded), &jpeg.Options{Quality: quality}) }
	if lossless {
		format, encode = "PNG", func() error { return png.Encode(&encoded, onWhite(decoded)) }
	}
	if err := encode(); err != nil {
		return 0, fmt.Errorf("encode image: %w", err)
	}
	bounds := decoded.Bounds()
	return encoded.Len(), addImage(pdf, format, encoded.Bytes(), bounds.Dx(), bounds.Dy())
}

// onWhite gives a transparent image a background and 8 bits per colour.
func onWhite(m image.Image) image.Image {
	if gray, ok := m.(*image.Gray); ok {
		return gray
	}
	flat := image.NewRGBA(m.Bounds())
	draw.Draw(flat, flat.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(flat, flat.Bounds(), m, m.Bounds().Min, draw.Over)
	return flat
}

// addImage adds a page that an image fills.
func addImage(pdf *fpdf.Fpdf, format string, data []byte, width, height int) error {
	size := fpdf.SizeType{Wd: pageWidth, Ht: pageWidth * float64(height) / float64(width)}
	if size.Ht > maxSide {
		size = fpdf.SizeType{Wd: maxSide * float64(width) / float64(height), Ht: maxSide}
	}
	size.Wd, size.Ht = max(size.Wd, minSide), max(size.Ht, minSide)
	name := strconv.Itoa(pdf.PageNo() + 1)
	options := fpdf.ImageOptions{ImageType: format}
	pdf.AddPageFormat("P", size)
	pdf.RegisterImageOptionsReader(name, options, bytes.NewReader(data))
	pdf.ImageOptions(name, 0, 0, size.Wd, size.Ht, false, options, 0, "")
	return pdf.Error()
}

// The limits of a TIFF. Its pages may share their pixels, so that a small file can be expensive.
const (
	maxTIFFPages  = 500
	maxTIFFPixels = 2 << 30   // 500 pages of a facsimile
	maxTIFFBytes  = 256 << 20 // of the images in the PDF
)

// tiffPages makes a page of each image of a TIFF. The decoder reads only the first image, so it gets
// the file once for each image, with a header that points to it.
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

// reheaded is data with a replaced header.
type reheaded struct{ header, data []byte }

// ReadAt implements io.ReaderAt.
func (r reheaded) ReadAt(p []byte, off int64) (int, error) {
	n, err := bytes.NewReader(r.data).ReadAt(p, off)
	if off < int64(len(r.header)) {
		copy(p[:n], r.header[off:])
	}
	return n, err
}

// jpegOrientation returns the orientation of a photograph according to its Exif data (Exif 2.3,
// 4.6.4): 1 to 8, 1 if it is not known.
func jpegOrientation(data []byte) int {
	const (
		application = 0xe1
		scan        = 0xda
		begin       = "Exif\x00\x00"
	)
	for at := 2; at+4 <= len(data) && data[at] == 0xff && data[at+1] != scan; {
		end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if end > len(data) {
			break
		}
		if segment := data[at+4 : max(at+4, end)]; data[at+1] == application && bytes.HasPrefix(segment, []byte(begin)) {
			exif := bytes.NewReader(segment[len(begin):])
			if frames := inspect.TIFFFrames(exif); len(frames) > 0 {
				return inspect.TIFFOrientation(exif, frames[0])
			}
			break
		}
		at = end
	}
	return 1
}

// turned applies an orientation to a picture.
func turned(m image.Image, orientation int) image.Image {
	if orientation <= 1 || orientation > 8 {
		return m
	}
	size := m.Bounds().Size()
	if orientation >= 5 { // rows become columns
		size.X, size.Y = size.Y, size.X
	}
	switch from := onWhite(m).(type) {
	case *image.Gray:
		to := image.NewGray(image.Rectangle{Max: size})
		turn(to.Pix, from.Pix, to.Stride, from.Stride, 1, size, orientation)
		return to
	case *image.RGBA:
		to := image.NewRGBA(image.Rectangle{Max: size})
		turn(to.Pix, from.Pix, to.Stride, from.Stride, 4, size, orientation)
		return to
	}
	return m
}

// turn copies each pixel, of so many bytes, to its place in the turned picture of that size.
func turn(to, from []byte, toStride, fromStride, bytes int, size image.Point, orientation int) {
	for y := range size.Y {
		for x := range size.X {
			left, right, top, bottom := x, size.X-1-x, y, size.Y-1-y
			column, row := left, top
			switch orientation {
			case 2:
				column = right
			case 3:
				column, row = right, bottom
			case 4:
				row = bottom
			case 5:
				column, row = top, left
			case 6:
				column, row = top, right
			case 7:
				column, row = bottom, right
			case 8:
				column, row = bottom, left
			}
			copy(to[y*toStride+x*bytes:][:bytes], from[row*fromStride+column*bytes:])
		}
	}
}

// errNoPage says that a picture has no page of that number.
var errNoPage = errors.New("there is no such page")

// Pictured reports whether previews are made from the content itself. Others are made from its PDF.
func Pictured(s Source) bool {
	switch class(s) {
	case "pdf", "image", "tiff":
		return true
	}
	return false
}

// Preview returns a page of a PDF or a picture, counted from 0, as a JPEG that fits into the
// box. It is never larger than the picture; that of a PDF has at most poppler.MostSide pixels per
// side. It is nil if there is no such page, or it cannot be read in time. The error is
// engine.ErrMissing for a PDF if poppler is not installed.
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

// previewPDF draws a page. The program supports only square boxes.
func previewPDF(ctx context.Context, pdf io.Reader, page, width, height int) ([]byte, error) {
	picture, err := poppler.Page(ctx, pdf, page, max(width, height))
	if errors.Is(err, engine.ErrUnreadable) || errors.Is(err, engine.ErrTooSlow) {
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
		return nil, nil // an unreadable picture is no preview
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

// decodePage decodes a page of a picture, and turns it upright. A panic of a decoder, which a malicious
// file may cause, becomes an error.
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

// fitted scales a picture down to fit into the box.
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
