package render

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"codeberg.org/go-pdf/fpdf"
	"github.com/dustin/go-humanize"
	"github.com/jhillyerd/enmime/v2"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

const (
	maxText    = 1 << 20 // bytes of a text that is set
	fontFamily = "gomono"
	fontSize   = 9   // points
	lineHeight = 4.2 // mm
	tab        = "    "
)

// textPages sets a text, broken at the margins.
func textPages(text string) (*fpdf.Fpdf, error) {
	pdf := newPDF()
	pdf.AddUTF8FontFromBytes(fontFamily, "", gomono.TTF)
	pdf.SetFont(fontFamily, "", fontSize)
	pdf.AddPage()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			pdf.Ln(lineHeight)
			continue
		}
		pdf.MultiCell(0, lineHeight, settable(line), "", "L", false)
	}
	return pdf, nil
}

// settable keeps what the font's encoding can say: no control characters, nothing beyond
// the Basic Multilingual Plane.
func settable(line string) string {
	return strings.Map(func(r rune) rune {
		if r > 0xffff || r < ' ' || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(line, "\t", tab))
}

// decodeText turns a text into UTF-8: by its byte order mark, as it is when it is
// UTF-8, else from Windows-1252.
func decodeText(data []byte) string {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
		if decoded, err := decoder.Bytes(data); err == nil {
			return string(decoded)
		}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if utf8.Valid(data) {
		return string(data)
	}
	decoded, err := charmap.Windows1252.NewDecoder().Bytes(data)
	if err != nil { // every byte stands for something
		return strings.ToValidUTF8(string(data), "\ufffd")
	}
	return string(decoded)
}

// mailPages sets an e-mail.
func mailPages(data []byte) (*fpdf.Fpdf, error) {
	text, err := mailText(data)
	if err != nil {
		return nil, err
	}
	return textPages(text)
}

// mailText is what an e-mail says: who, when and about what, its text, and what is attached.
func mailText(data []byte) (string, error) {
	envelope, err := enmime.ReadEnvelope(bytes.NewReader(data))
	if err != nil {
		return "", fmt.Errorf("read e-mail: %w", err)
	}
	var b strings.Builder
	for _, name := range []string{"From", "To", "Cc", "Date", "Subject"} {
		if value := envelope.GetHeader(name); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	for _, part := range envelope.Attachments {
		fmt.Fprintf(&b, "Attachment: %s (%s)\n", part.FileName, humanize.IBytes(uint64(len(part.Content))))
	}
	b.WriteString("\n" + envelope.Text)
	return b.String(), nil
}

// cover makes a page that says what a document is.
func cover(s Source) *fpdf.Fpdf {
	pdf := newPDF()
	pdf.AddUTF8FontFromBytes(fontFamily, "", gomono.TTF)
	pdf.AddPage()
	pdf.SetFont(fontFamily, "", 2*fontSize)
	pdf.MultiCell(0, 2*lineHeight, settable(s.Name), "", "L", false)
	pdf.Ln(lineHeight)
	pdf.SetFont(fontFamily, "", fontSize)
	size := fmt.Sprintf("%s (%s bytes)", humanize.IBytes(uint64(max(0, s.Size))), humanize.Comma(s.Size))
	pdf.MultiCell(0, lineHeight, settable("Type: "+s.ContentType), "", "L", false)
	pdf.MultiCell(0, lineHeight, settable("Size: "+size), "", "L", false)
	return pdf
}
