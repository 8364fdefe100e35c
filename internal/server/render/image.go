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
	"math"
	"slices"
	"strconv"

	"codeberg.org/go-pdf/fpdf"
	_ "golang.org/x/image/bmp" // decoded when a BMP comes
	"golang.org/x/image/draw"
	"golang.org/x/image/riff"
	"golang.org/x/image/tiff"
	_ "golang.org/x/image/webp" // decoded when a WebP comes

	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/whole"
)

const (
	// maxPixels is the largest image that is decoded; A4 at 600 dpi has 35 million. With 16 bits per
	// colour it is half as many.
	maxPixels = 64 << 20
	inch      = 25.4 // mm
	inMetre   = 0.0254
	pageWidth = 210  // of a page of an image without a resolution, in mm; the height follows the image
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
	if orientation, dots := ofJPEG(data); format == "jpeg" && config.ColorModel != color.CMYKModel && orientation == 1 {
		return pdf, addImage(pdf, "JPG", append(data, jpegEnd...), config.Width, config.Height, dots)
	}
	decoded, err := decodePage(images, data, 0)
	if err != nil {
		return nil, err
	}
	_, err = addDecoded(pdf, decoded, format == "png")
	return pdf, err
}

// jpegEnd is the last marker of a JPEG, which some cameras leave out. Behind another one it does not matter, nor
// behind any other picture.
const jpegEnd = "\xff\xd9"

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
func addDecoded(pdf *fpdf.Fpdf, decoded bitmap, lossless bool) (int, error) {
	switch decoded.Image.(type) {
	case *image.Gray, *image.Paletted:
		lossless = true
	}
	var encoded bytes.Buffer
	format, encode := "JPG", func() error { return jpeg.Encode(&encoded, onWhite(decoded.Image), &jpeg.Options{Quality: quality}) }
	if lossless {
		format, encode = "PNG", func() error { return png.Encode(&encoded, onWhite(decoded.Image)) }
	}
	if err := encode(); err != nil {
		return 0, fmt.Errorf("encode image: %w", err)
	}
	bounds := decoded.Bounds()
	return encoded.Len(), addImage(pdf, format, encoded.Bytes(), bounds.Dx(), bounds.Dy(), decoded.dots)
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
func addImage(pdf *fpdf.Fpdf, format string, data []byte, width, height int, dots resolution) error {
	dots = dots.or(width)
	size := fpdf.SizeType{Wd: inch * float64(width) / dots.x, Ht: inch * float64(height) / dots.y}
	shrink := min(1, maxSide/max(size.Wd, size.Ht))
	size.Wd, size.Ht = max(size.Wd*shrink, minSide), max(size.Ht*shrink, minSide)
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

// tiffPages makes a page of each page of a TIFF.
func tiffPages(r io.Reader) (*fpdf.Fpdf, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSource))
	if err != nil {
		return nil, err
	}
	pdf := newPDF()
	frames := framesOf(bytes.NewReader(data))
	if len(frames) == 0 || len(frames) > maxTIFFPages {
		return nil, errors.New("read TIFF: no pages, or too many")
	}
	pixels, left := int64(0), maxTIFFBytes
	for _, frame := range frames {
		decoded, err := decodeFrame(data, frame)
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

// rareTIFF returns the PDF of a TIFF that we cannot decode. If the first page has no resolution, that of the
// PDF is as wide as usual.
func rareTIFF(ctx context.Context, s Source) ([]byte, error) {
	file, done, err := engine.File(s.Content)
	if err != nil {
		return nil, err
	}
	defer done()
	var x, y float64
	if frames := framesOf(io.NewSectionReader(file, 0, s.Size)); len(frames) > 0 {
		x, y = replacedDots(frames[0])
	}
	return engine.TIFF(ctx, file, x, y)
}

// replacedDots is the resolution that libtiff is to take for that of a page; 0 if the page has one.
func replacedDots(d whole.Directory) (x, y float64) {
	const noUnit, point = 1, 72
	orientation, given := ofTIFF(d)
	columns := uint64(whole.TagWidth)
	if orientation >= 5 {
		columns = whole.TagHeight
	}
	page := given.turned(orientation).or(int(d.Number(columns, 0))).turned(orientation) //nolint:gosec // libtiff refuses nonsense
	switch {
	case page == given:
		return 0, 0
	case d.Number(whole.TagResolutionUnit, 0) == noUnit: // then libtiff counts dots per point
		return page.x / point, page.y / point
	}
	return page.x, page.y
}

// framesOf returns the directories of the pages of a TIFF.
func framesOf(c whole.Content) (frames []whole.Directory) {
	if t := whole.AsTIFF(c); t != nil {
		for d := range t.Pages {
			if frames = append(frames, d); len(frames) > maxTIFFPages {
				break
			}
		}
	}
	return frames
}

// bitmap is an upright picture.
type bitmap struct {
	image.Image
	dots resolution
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
			column, row := x, y
			if orientation&2 != 0 { // the first column is on the right, or at the bottom
				column = size.X - 1 - x
			}
			if (orientation-1)&2 != 0 { // the first row is at the bottom, or on the right
				row = size.Y - 1 - y
			}
			if orientation >= 5 {
				column, row = row, column
			}
			copy(to[y*toStride+x*bytes:][:bytes], from[row*fromStride+column*bytes:])
		}
	}
}

// errNoPage says that a picture has no page of that number.
var errNoPage = errors.New("there is no such page")

// Pictured reports whether previews are made from the content itself. Others are made from its PDF.
func Pictured(s Source) bool {
	return slices.Contains([]string{"pdf", images, tiffs}, class(s))
}

// Preview returns a page of a PDF or a picture, counted from 0, as a JPEG that fits into the box. It is never larger
// than the picture; that of a PDF has at most poppler.MostSide pixels per side. It is nil if there is no such page, or
// it cannot be read in time. The error is engine.ErrMissing for a PDF if poppler is not installed.
func Preview(ctx context.Context, s Source, page, width, height int) ([]byte, error) {
	if class(s) == "pdf" {
		return previewPDF(ctx, s.Content, page, width, height)
	}
	if s.Size > maxSource {
		return nil, nil
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
	return encodeFitted(bitmap{decoded, square}, width, height)
}

func encodeFitted(m bitmap, width, height int) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, onWhite(m.fitted(width, height)), &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("encode preview: %w", err)
	}
	return b.Bytes(), nil
}

// decodePage decodes a page of a picture, and turns it upright. A panic of a decoder, which a malicious
// file may cause, becomes an error.
func decodePage(class string, data []byte, page int) (m bitmap, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", engine.ErrUnreadable, cause)
		}
	}()
	if class == tiffs {
		frames := framesOf(bytes.NewReader(data))
		if page >= len(frames) {
			return bitmap{}, errNoPage
		}
		return decodeFrame(data, frames[page])
	}
	if page > 0 {
		return bitmap{}, errNoPage
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil {
		err = checkSize(c)
	}
	if err != nil {
		return bitmap{}, err
	}
	decoded, _, err := image.Decode(bytes.NewReader(append(data, jpegEnd...)))
	if err != nil {
		return bitmap{}, err
	}
	orientation, dots := 1, square
	switch format {
	case "jpeg":
		orientation, dots = ofJPEG(data)
	case "webp":
		orientation, dots = ofWebP(data)
	case "png":
		dots = ofPNG(data)
	case "bmp": // BITMAPINFOHEADER, biXPelsPerMeter, which the decoder has read
		dots = newResolution(float64(binary.LittleEndian.Uint32(data[38:])), float64(binary.LittleEndian.Uint32(data[42:])), inMetre)
	}
	return upright(decoded, orientation, dots), nil
}

// decodeFrame reads a page of a TIFF. The decoder reads only the first picture: the header in data is
// made to point to the page.
func decodeFrame(data []byte, d whole.Directory) (bitmap, error) {
	const group3, group4, reversed = 3, 4, 2
	if c := d.Number(whole.TagCompression, 1); c != group3 && c != group4 && d.Number(whole.TagFillOrder, 1) == reversed {
		return bitmap{}, errors.New("read TIFF: reversed bits, which the decoder does not know")
	}
	d.Order.PutUint32(data[4:], uint32(d.At)) //nolint:gosec // the decoder refuses a BigTIFF
	mendLengths(data, d)
	c, err := tiff.DecodeConfig(bytes.NewReader(data))
	if err == nil {
		err = checkSize(c)
	}
	if err != nil {
		return bitmap{}, err
	}
	m, err := tiff.Decode(bytes.NewReader(data))
	if err != nil {
		return bitmap{}, err
	}
	orientation, dots := ofTIFF(d)
	return upright(m, orientation, dots), nil
}

// mendLengths gives strips that have no length, or one beyond the end, all bytes that follow them: the
// decoder stops at the last line.
func mendLengths(data []byte, d whole.Directory) {
	offsets, _ := d.Numbers(whole.TagStripOffsets)
	counts, _ := d.Numbers(whole.TagStripByteCounts)
	at, width, _ := d.Field(whole.TagStripByteCounts)
	size := uint64(len(data))
	for i, off := range offsets[:min(len(offsets), len(counts))] {
		if off > size || counts[i] > 0 && counts[i] <= size-off {
			continue
		}
		switch p := data[at+uint64(i)*width:]; width {
		case 2:
			d.Order.PutUint16(p, uint16(min(size-off, 1<<16-1)))
		case 4:
			d.Order.PutUint32(p, uint32(size-off)) //nolint:gosec // of a file in memory
		}
	}
}

// upright turns a picture.
func upright(m image.Image, orientation int, dots resolution) bitmap {
	return bitmap{turned(m, orientation), dots.turned(orientation)}
}

// fitted scales a picture down to fit into the box, and so that its pixels are square.
func (m bitmap) fitted(width, height int) image.Image {
	size := m.Bounds().Size()
	w, h := float64(size.X)*max(1, m.dots.y/m.dots.x), float64(size.Y)*max(1, m.dots.x/m.dots.y)
	scale := min(1, float64(width)/w, float64(height)/h)
	to := image.Pt(max(1, int(w*scale+0.5)), max(1, int(h*scale+0.5)))
	if to == size {
		return m.Image
	}
	small := image.NewRGBA(image.Rectangle{Max: to})
	draw.Draw(small, small.Bounds(), image.White, image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(small, small.Bounds(), m.Image, m.Bounds(), draw.Over, nil)
	return small
}

// resolution is that of a picture along its rows and columns, in dots per inch. Of one that is not
// plausible only the ratio counts.
type resolution struct{ x, y float64 }

// square is the resolution of pictures that have none.
var square = resolution{1, 1}

// newResolution returns a resolution in dots per unit, of which an inch has so many; 0 if that is not
// known, and only the ratio is.
func newResolution(x, y, units float64) resolution {
	const most = 8 // times as fine along the one as along the other
	switch ratio := x / y; {
	case math.IsNaN(ratio) || ratio < 1.0/most || ratio > most:
		return square
	case units == 0:
		return resolution{ratio, 1}
	}
	return resolution{x * units, y * units}
}

// or is the resolution, and if it is not plausible, one by which a picture of that width has the width
// of a page. 72 and 96 are what programs write that know none.
func (r resolution) or(width int) resolution {
	const least, most = 97, 4800
	if min(r.x, r.y) >= least && max(r.x, r.y) <= most {
		return r
	}
	x := float64(width) * inch / pageWidth
	return resolution{x, x * r.y / r.x}
}

// turned is the resolution after an orientation was applied.
func (r resolution) turned(orientation int) resolution {
	if orientation >= 5 { // rows become columns
		return resolution{r.y, r.x}
	}
	return r
}

// ofTIFF returns the orientation of the picture of a directory, 1 to 8 (TIFF 6.0, section 8), 1 if it is
// not known, and its resolution.
func ofTIFF(d whole.Directory) (orientation int, dots resolution) {
	const inches, centimetres = 2, 3
	orientation = 1
	if n := d.Number(whole.TagOrientation, 1); n >= 1 && n <= 8 {
		orientation = int(n)
	}
	units := map[uint64]float64{inches: 1, centimetres: 2.54}[d.Number(whole.TagResolutionUnit, inches)]
	return orientation, newResolution(fraction(d, whole.TagXResolution), fraction(d, whole.TagYResolution), units)
}

// fraction is the value of a tag; no number if it has none.
func fraction(d whole.Directory, tag uint64) float64 {
	if n, err := d.Numbers(tag); err == nil && len(n) == 2 {
		return float64(n[0]) / float64(n[1])
	}
	return 0
}

// exifMark begins the Exif data in a JPEG (Exif 2.3, 4.7.2).
const exifMark = "Exif\x00\x00"

// ofJPEG returns the orientation of a photograph according to its Exif data (Exif 2.3, 4.6.4), and its
// resolution according to JFIF (1.02) or these.
func ofJPEG(data []byte) (orientation int, dots resolution) {
	const (
		application = 0xe0
		scan        = 0xda
		jfif        = "JFIF\x00"
	)
	orientation, dots = 1, square
	for at := 2; at+4 <= len(data) && data[at] == 0xff && data[at+1] != scan; {
		end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if end > len(data) {
			break
		}
		switch segment := data[at+4 : max(at+4, end)]; {
		case data[at+1] == application && bytes.HasPrefix(segment, []byte(jfif)) && len(segment) >= 12:
			units := map[byte]float64{1: 1, 2: 2.54}[segment[7]]
			x, y := binary.BigEndian.Uint16(segment[8:]), binary.BigEndian.Uint16(segment[10:])
			dots = newResolution(float64(x), float64(y), units)
		case data[at+1] == application+1 && bytes.HasPrefix(segment, []byte(exifMark)):
			var photo resolution
			if orientation, photo = ofExif(segment[len(exifMark):]); dots == square {
				dots = photo
			}
			return orientation, dots
		}
		at = end
	}
	return orientation, dots
}

// ofExif is ofTIFF of the first directory.
func ofExif(data []byte) (orientation int, dots resolution) {
	if frames := framesOf(bytes.NewReader(data)); len(frames) > 0 {
		return ofTIFF(frames[0])
	}
	return 1, square
}

// ofWebP returns what the Exif data of a WebP say (WebP Container Specification, Metadata).
func ofWebP(data []byte) (orientation int, dots resolution) {
	_, chunks, err := riff.NewReader(bytes.NewReader(data))
	for err == nil {
		var kind riff.FourCC
		var content io.Reader
		if kind, _, content, err = chunks.Next(); err == nil && string(kind[:]) == "EXIF" {
			photo, _ := io.ReadAll(content)
			return ofExif(bytes.TrimPrefix(photo, []byte(exifMark)))
		}
	}
	return 1, square
}

// ofPNG returns the resolution in front of the data of a PNG (ISO/IEC 15948, 11.3.5.3).
func ofPNG(data []byte) resolution {
	const metres = 1
	front, _, _ := bytes.Cut(data, []byte("IDAT"))
	_, p, _ := bytes.Cut(front, []byte("pHYs"))
	if len(p) < 9 {
		return square
	}
	units := map[byte]float64{metres: inMetre}[p[8]]
	return newResolution(float64(binary.BigEndian.Uint32(p)), float64(binary.BigEndian.Uint32(p[4:])), units)
}
