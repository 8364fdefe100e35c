package render

import (
	"bytes"
	"encoding/binary"
	"image"

	"github.com/archivefs/archivefs/internal/server/inspect"
)

// jpegOrientation returns how a photograph is to be turned, by what the camera noted (Exif 2.3,
// 4.6.4): 1 to 8, 1 when nothing is known.
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

// turned shows a picture as it is to be seen.
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

// turn copies pixels of so many bytes to where they belong in a picture of that size.
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
