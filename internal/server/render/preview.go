package render

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"

	"github.com/archivefs/archivefs/internal/server/inspect"
)

// errNoPage says that a picture has no page of that number.
var errNoPage = errors.New("there is no such page")

// Text returns the text of a document in UTF-8, nil when none is known: of anything but a
// text or an e-mail, and of what is larger than 1 MiB. A text is one page.
func Text(s Source) ([]byte, error) {
	class := class(s)
	if class != "text" && class != "mail" {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(s.Content, maxText))
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	text := decodeText(data)
	if class == "mail" {
		if text, err = mailText(data); err != nil {
			return nil, nil //nolint:nilerr // no e-mail that can be read, so no text is known
		}
	}
	return append([]byte{}, text...), nil
}

// Preview returns a page of a picture, counted from 0, as a JPEG that fits into the box, nil
// when there is none. It is never larger than the picture.
func Preview(s Source, page, width, height int) (picture []byte, err error) {
	class := class(s)
	if class != "image" && class != "tiff" {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(s.Content, maxSource))
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	decoded, err := decodePage(class, data, page)
	if err != nil {
		return nil, nil //nolint:nilerr // what cannot be read has no preview
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, onWhite(fitted(decoded, width, height)), &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("encode preview: %w", err)
	}
	return b.Bytes(), nil
}

// decodePage reads a page of a picture. A decoder that panics, as strangers may make one do,
// has not read it.
func decodePage(class string, data []byte, page int) (m image.Image, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errUnreadable, cause)
		}
	}()
	decode, config := image.Decode, image.DecodeConfig
	view := func() io.Reader { return bytes.NewReader(data) }
	if class == "tiff" {
		frames := inspect.TIFFFrames(bytes.NewReader(data))
		if page >= len(frames) || page >= maxTIFFPages {
			return nil, errNoPage
		}
		view = frameOf(data, frames[page])
		decode = func(r io.Reader) (image.Image, string, error) { m, err := tiff.Decode(r); return m, "tiff", err }
		config = func(r io.Reader) (image.Config, string, error) { c, err := tiff.DecodeConfig(r); return c, "tiff", err }
	} else if page > 0 {
		return nil, errNoPage
	}
	c, _, err := config(view())
	if err == nil {
		err = checkSize(c)
	}
	if err != nil {
		return nil, err
	}
	m, _, err = decode(view())
	return m, err
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
