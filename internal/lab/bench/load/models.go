//go:build linux

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// mixed is what an office uploads: of 21 documents so many are of each kind, by the extension of their names.
const mixed = "pdf pdf pdf pdf pdf pdf pdf pdf tif tif tif jpg jpg docx docx odt doc xls eml rtf txt"

// letter is what the office files say, and sheet is their table.
const (
	letter = "Sehr geehrte Frau Beispiel,\n\nfür die Lieferung vom 3. März 2026 stellen wir Ihnen 1.234,50 € in Rechnung: Quittenbrot, Schlehenmus.\n\n"
	sheet  = "Artikel;Menge;Preis\nQuittenbrot;12;3,50\nSchlehenmus;7;4,20\n"
)

// models are contents of documents by their kinds. The PDFs and the scans, which have words to read, and the texts are
// those of the sample archive, and LibreOffice makes the office files.
type models map[string][][]byte

func readModels(ctx context.Context, sample, dir string) (models, error) {
	m := models{"eml": {[]byte("From: Erika Beispiel <erika@example.org>\r\nTo: office@example.org\r\nSubject: Rechnung\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\n\r\n" + letter)}}
	packed, err := zip.OpenReader(sample)
	if err != nil {
		return nil, err
	}
	defer packed.Close()                //nolint:errcheck // only read
	for _, f := range packed.File[1:] { // behind the description
		opened, err := f.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(opened)
		if err != nil {
			return nil, err
		}
		kind := kindOf(content)
		m[kind] = append(m[kind], content)
	}
	for name, text := range map[string]string{"letter.txt": strings.Repeat(letter, 20), "sheet.csv": strings.Repeat(sheet, 50)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	const convert = `cd "$DIR" && soffice=(soffice "-env:UserInstallation=file://$DIR/profile" --headless --convert-to)
		for kind in docx odt doc rtf; do "${soffice[@]}" "$kind" letter.txt; done && "${soffice[@]}" xls sheet.csv`
	if _, err := machine.Run(ctx, convert, []string{"DIR=" + dir}, 5*time.Minute); err != nil {
		return nil, err
	}
	for _, name := range []string{"letter.docx", "letter.odt", "letter.doc", "letter.rtf", "sheet.xls"} {
		content, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // below the scratch directory
		if err != nil {
			return nil, err
		}
		m[strings.TrimPrefix(filepath.Ext(name), ".")] = [][]byte{content}
	}
	return m, nil
}

// kindOf is the kind of a document of the sample archive.
func kindOf(content []byte) string {
	for magic, kind := range map[string]string{"%PDF": "pdf", "II*\x00": "tif", "MM\x00*": "tif", "\xff\xd8\xff": "jpg", "PK": "xlsx"} {
		if bytes.HasPrefix(content, []byte(magic)) {
			return kind
		}
	}
	return "txt"
}

// pick is the document with the number n: one of its kind that no other number has.
func (m models) pick(r *rand.Rand, n int) (name string, content []byte) {
	kinds := strings.Fields(mixed)
	kind := kinds[r.IntN(len(kinds))]
	content = bytes.Clone(m[kind][r.IntN(len(m[kind]))])
	mark := fmt.Sprintf("\n%% %08d\n", n)
	if kind == "docx" || kind == "odt" { // a comment of the archive (APPNOTE, 4.3.16)
		binary.LittleEndian.PutUint16(content[len(content)-2:], uint16(len(mark))) //nolint:gosec // it is short
	}
	return fmt.Sprintf("Beleg %d.%s", n, kind), append(content, mark...)
}
