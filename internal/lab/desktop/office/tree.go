//go:build linux

package office

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"

	"codeberg.org/go-pdf/fpdf"
)

// ScanSize is what each PDF in the folder of scans has at most, in bytes.
const ScanSize = 290 << 10

// writeTree writes what the archive begins with, beside the sample: a folder of scans, one of
// letters, and one of documents that will be here or not.
func writeTree(dir string) error {
	scans := filepath.Join(dir, Mandator, Scans)
	letters := filepath.Join(dir, Mandator, Letters)
	states := filepath.Join(dir, Mandator, States)
	for _, d := range []string{scans, letters, states} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	for n := range PDFs {
		if err := os.WriteFile(filepath.Join(scans, fmt.Sprintf("scan-%02d.pdf", n+1)), Scan(uint64(n)), 0o600); err != nil {
			return err
		}
	}
	for _, name := range []string{"Cached.pdf", "Elsewhere.pdf", "Kept.pdf"} {
		if err := os.WriteFile(filepath.Join(states, name), Page(name), 0o600); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"Offer.txt": "An offer.\n", "Reply.txt": "A reply.\n", "Terms.pdf": string(Page("Terms"))} {
		if err := os.WriteFile(filepath.Join(letters, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Scan is a PDF of one page that is a picture, with the noise of a scanner.
func Scan(seed uint64) []byte {
	const width, height = 800, 1130
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // noise
	page := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			shade := 200 + rnd.IntN(56)
			if y/14%2 == 1 && x > 80 && x < 720 && x/9%5 != 0 {
				shade = rnd.IntN(90)
			}
			page.SetGray(x, y, color.Gray{Y: uint8(shade)}) //nolint:gosec // below 256
		}
	}
	var picture bytes.Buffer
	_ = jpeg.Encode(&picture, page, &jpeg.Options{Quality: 70}) // a buffer takes everything
	return pdf(func(p *fpdf.Fpdf) {
		p.RegisterImageOptionsReader("page", fpdf.ImageOptions{ImageType: "JPG"}, &picture)
		p.ImageOptions("page", 0, 0, 210, 297, false, fpdf.ImageOptions{ImageType: "JPG"}, 0, "")
	})
}

// Page is a PDF of one page with a title.
func Page(title string) []byte {
	return pdf(func(p *fpdf.Fpdf) {
		p.SetFont("Helvetica", "B", 32)
		p.Cell(0, 30, title)
	})
}

func pdf(draw func(*fpdf.Fpdf)) []byte {
	p := fpdf.New("P", "mm", "A4", "")
	p.AddPage()
	draw(p)
	var out bytes.Buffer
	if err := p.Output(&out); err != nil {
		panic(err) // the drawing is fixed
	}
	return out.Bytes()
}
