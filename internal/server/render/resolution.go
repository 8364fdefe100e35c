package render

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/archivefs/archivefs/internal/whole"
)

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
	orientation, dots = 1, square
	if t := whole.AsTIFF(bytes.NewReader(data)); t != nil {
		t.Pages(func(d whole.Directory) bool {
			orientation, dots = ofTIFF(d)
			return false
		})
	}
	return orientation, dots
}

// ofPNG returns the resolution in front of the data of a PNG (ISO/IEC 15948, 11.3.5.3).
func ofPNG(data []byte) resolution {
	const metres, inMetre = 1, 0.0254
	front, _, _ := bytes.Cut(data, []byte("IDAT"))
	_, p, _ := bytes.Cut(front, []byte("pHYs"))
	if len(p) < 9 {
		return square
	}
	units := map[byte]float64{metres: inMetre}[p[8]]
	return newResolution(float64(binary.BigEndian.Uint32(p)), float64(binary.BigEndian.Uint32(p[4:])), units)
}
