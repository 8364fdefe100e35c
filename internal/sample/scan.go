package sample

import (
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"

	"golang.org/x/image/tiff"
)

const (
	scanQuality = 70 // JPEG, of 100
	noiseGrays  = 8  // a power of two
)

// jpegSource makes a grayscale JPEG of p, which must fit one page.
func jpegSource(p paper, seed uint64) source {
	return func(w io.Writer) error {
		page, err := scanPage(p, seed)
		if err != nil {
			return err
		}
		if err := jpeg.Encode(w, page, &jpeg.Options{Quality: scanQuality}); err != nil {
			return fmt.Errorf("writing JPEG %q: %w", p.title, err)
		}
		return nil
	}
}

// tiffSource makes a grayscale TIFF of p (TIFF 6.0), which must fit one page. It is
// uncompressed: grain hardly shrinks, and trying takes most of the time of a load.
func tiffSource(p paper, seed uint64) source {
	return func(w io.Writer) error {
		page, err := scanPage(p, seed)
		if err != nil {
			return err
		}
		if err := tiff.Encode(w, page, nil); err != nil {
			return fmt.Errorf("writing TIFF %q: %w", p.title, err)
		}
		return nil
	}
}

// scanPage returns the image of a paper of one page.
func scanPage(p paper, seed uint64) (*image.Gray, error) {
	pages, err := scanPages(p, seed)
	if err != nil {
		return nil, err
	}
	if len(pages) != 1 {
		return nil, fmt.Errorf("scanning %q: %d pages do not fit one image", p.title, len(pages))
	}
	return pages[0], nil
}

// scanPages returns images of the pages of p as a scanner sees them: laid on a little
// askew, with grain. The seed decides how.
func scanPages(p paper, seed uint64) ([]*image.Gray, error) {
	s, err := newRaster()
	if err != nil {
		return nil, fmt.Errorf("scanning %q: %w", p.title, err)
	}
	set(p, s)
	if s.err != nil {
		return nil, fmt.Errorf("scanning %q: %w", p.title, s.err)
	}
	rnd := newRandom(seed)
	for i, page := range s.pages {
		s.pages[i] = grain(page, rnd)
	}
	return s.pages, nil
}

// grain returns page as scanned: columns shifted by a slope of at most 1 %, and
// noise on each pixel.
func grain(page *image.Gray, rnd *rand.Rand) *image.Gray {
	b := page.Bounds()
	slope := (rnd.Float64() - 0.5) / 50
	out := image.NewGray(b)
	for y := range b.Dy() {
		var noise uint64
		for x := range b.Dx() {
			if x%8 == 0 {
				noise = rnd.Uint64()
			}
			gray := uint8(paperGray)
			if from := y - int(float64(x)*slope); from >= 0 && from < b.Dy() {
				gray = page.Pix[from*page.Stride+x]
			}
			out.Pix[y*out.Stride+x] = gray + uint8(noise%noiseGrays)
			noise >>= 8
		}
	}
	return out
}
