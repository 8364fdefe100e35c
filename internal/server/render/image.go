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
	// maxPixels is the largest image that is decoded; A4 at 600 dpi has 35 million.
	maxPixels = 64 << 20
	pageWidth = 210 // of an image's page, in mm; the height follows the image
	quality   = 90  // of photographs that are encoded anew
)

// imagePage makes one page of an image. A JPEG is put in as it is.
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
	if format == "jpeg" {
		addImage(pdf, "JPG", data, config.Width, config.Height)
		return pdf, nil
	}
	decoded, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read image: %w", err)
	}
	return pdf, addDecoded(pdf, decoded, format == "png")
}

func checkSize(config image.Config) error {
	if config.Width <= 0 || config.Height <= 0 || int64(config.Width)*int64(config.Height) > maxPixels {
		return fmt.Errorf("image of %d x %d pixels is too large", config.Width, config.Height)
	}
	return nil
}

// addDecoded adds a page: scans in black and white and what was lossless before are
// encoded without loss.
func addDecoded(pdf *fpdf.Fpdf, decoded image.Image, lossless bool) error {
	bounds := decoded.Bounds()
	var encoded bytes.Buffer
	switch decoded.(type) {
	case *image.Gray, *image.Paletted:
		lossless = true
	}
	if lossless {
		if err := png.Encode(&encoded, onWhite(decoded)); err != nil {
			return fmt.Errorf("encode image: %w", err)
		}
		addImage(pdf, "PNG", encoded.Bytes(), bounds.Dx(), bounds.Dy())
		return nil
	}
	if err := jpeg.Encode(&encoded, onWhite(decoded), &jpeg.Options{Quality: quality}); err != nil {
		return fmt.Errorf("encode image: %w", err)
	}
	addImage(pdf, "JPG", encoded.Bytes(), bounds.Dx(), bounds.Dy())
	return nil
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
func addImage(pdf *fpdf.Fpdf, format string, data []byte, width, height int) {
	pageHeight := pageWidth * float64(height) / float64(width)
	name := strconv.Itoa(pdf.PageNo() + 1)
	options := fpdf.ImageOptions{ImageType: format}
	pdf.AddPageFormat("P", fpdf.SizeType{Wd: pageWidth, Ht: pageHeight})
	pdf.RegisterImageOptionsReader(name, options, bytes.NewReader(data))
	pdf.ImageOptions(name, 0, 0, pageWidth, pageHeight, false, options, 0, "")
}
