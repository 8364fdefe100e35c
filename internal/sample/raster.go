package sample

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

const (
	rasterDPI   = 100
	pixelsPerMM = rasterDPI / 25.4
	inkGray     = 0x28
	paperGray   = 0xf2
)

// raster sets text on page images. The first error stays in err.
type raster struct {
	regular, bold *opentype.Font
	faces         map[face]font.Face
	pages         []*image.Gray
	err           error
}

func newRaster() (*raster, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("reading the regular font: %w", err)
	}
	bold, err := opentype.Parse(gobold.TTF)
	if err != nil {
		return nil, fmt.Errorf("reading the bold font: %w", err)
	}
	return &raster{regular: regular, bold: bold, faces: make(map[face]font.Face)}, nil
}

func (s *raster) newPage() {
	page := image.NewGray(image.Rect(0, 0, pixels(pageWidth), pixels(pageHeight)))
	for i := range page.Pix {
		page.Pix[i] = paperGray
	}
	s.pages = append(s.pages, page)
}

func (s *raster) width(text string, f face) float64 {
	cut := s.face(f)
	if cut == nil {
		return 0
	}
	return float64(font.MeasureString(cut, text)) / 64 / pixelsPerMM
}

func (s *raster) text(x, y float64, text string, f face) {
	cut := s.face(f)
	if cut == nil {
		return
	}
	d := font.Drawer{
		Dst:  s.pages[len(s.pages)-1],
		Src:  image.NewUniform(color.Gray{Y: inkGray}),
		Face: cut,
		Dot:  fixed.P(pixels(x), pixels(y)),
	}
	d.DrawString(text)
}

func (s *raster) rule(x1, x2, y float64) {
	line := image.Rect(pixels(x1), pixels(y), pixels(x2), pixels(y)+1)
	draw.Draw(s.pages[len(s.pages)-1], line, image.NewUniform(color.Gray{Y: inkGray}), image.Point{}, draw.Src)
}

// face returns the font face for f, nil after an error.
func (s *raster) face(f face) font.Face {
	if cut, ok := s.faces[f]; ok {
		return cut
	}
	family := s.regular
	if f.bold {
		family = s.bold
	}
	cut, err := opentype.NewFace(family, &opentype.FaceOptions{Size: f.size, DPI: rasterDPI})
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("font of %g points: %w", f.size, err)
	}
	if err != nil {
		return nil
	}
	s.faces[f] = cut
	return cut
}

func pixels(mm float64) int { return int(math.Round(mm * pixelsPerMM)) }
