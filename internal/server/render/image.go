package render

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // decoded when a GIF comes
	"image/jpeg"
	"image/png"
	"io"
	"strconv"

	"codeberg.org/go-pdf/fpdf"
	_ "golang.org/x/image/bmp"  // decoded when a BMP comes
	_ "golang.org/x/image/webp" // decoded when a WebP comes
)

const (
	// maxPixels is the largest image that is decoded; A4 at 600 dpi has 35 million. Of an image
	// with 16 bits per colour it is half as many.
	maxPixels = 64 << 20
	pageWidth = 210  // of an image's page, in mm; the height follows the image
	maxSide   = 5000 // of an image's page, in mm, as programs can show it (ISO 32000-1, C.2)
	minSide   = 1    // of the same
	quality   = 90   // of photographs that are encoded anew
)

// imagePage makes one page of an image. A JPEG is put in as it is, unless it must be turned or is
// made of inks, which not all programs show alike.
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

// addDecoded adds a page, and returns how many bytes its image takes: scans in black and white and
// what was lossless before are encoded without loss.
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
