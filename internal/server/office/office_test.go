package office_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/archivefs/archivefs/internal/server/office"
	"github.com/archivefs/archivefs/internal/testing/odd"
)

// packed makes an archive of files that are not compressed, given as name, content, name, content.
func packed(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: files[i]})
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// workbook is made by a library.
func workbook(t *testing.T) string {
	t.Helper()
	f := excelize.NewFile()
	for cell, value := range map[string]any{"A1": "Grüße", "B1": 12.5, "A2": "x & y", "B2": "Grüße"} {
		if err := f.SetCellValue("Sheet1", cell, value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.NewSheet("Sheet2"); err != nil {
		t.Fatal(err)
	}
	if err := f.SetCellValue("Sheet2", "C3", "last"); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const (
	docx = `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Dear </w:t></w:r><w:r><w:instrText>PAGE</w:instrText><w:tab/><w:t xml:space="preserve">Eve &amp; Adam</w:t></w:r></w:p>` +
		`<w:p/><w:p><w:r><w:t>a</w:t><w:br/><w:t>b</w:t></w:r></w:p></w:body></w:document>`
	odt = `<office:document-content><office:body><text:h>Title</text:h><text:p>one<text:s/><text:span>two</text:span><text:tab/>three<text:line-break/>four</text:p>` +
		`<table:table><table:table-row><table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row></table:table></office:body></office:document-content>`
	slide = `<p:sld><a:p><a:r><a:t>slide %d</a:t></a:r></a:p></p:sld>`
)

func TestText(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"document": {
			packed(t, "[Content_Types].xml", "<x><t>no</t></x>", "word/footer1.xml", "<w:p><w:t>foot</w:t></w:p>", "word/document.xml", docx, "word/header1.xml", "<w:p><w:t>head</w:t></w:p>"),
			"Dear \tEve & Adam\na\nb\nhead\nfoot\n",
		},
		"workbook":     {workbook(t), "Sheet1\nSheet2\nGrüße\t12.5\t\nx & y\tGrüße\t\nlast\t\n"},
		"slides":       {packed(t, "ppt/slides/slide10.xml", fmt.Sprintf(slide, 10), "ppt/slides/slide2.xml", fmt.Sprintf(slide, 2)), "slide 2\nslide 10\n"},
		"OpenDocument": {packed(t, "mimetype", "x", "content.xml", odt), "Title\none two\tthree\nfour\n1 \t2 \t\n"},
		"cut":          {packed(t, "word/document.xml", docx[:strings.Index(docx, "<w:p/>")]+"<w:p <"), "Dear \tEve & Adam\n"},
		"no end":       {packed(t, "word/document.xml", "<w:t>a"), "a\n"},
		"header":       {packed(t, "xl/worksheets/sheet1.xml", `<c t="inlineStr"><is><t>a</t></is></c><oddHeader>&amp;L&amp;12b</oddHeader>`), "a\t\n  b\n"},
		"wrong number": {packed(t, "xl/worksheets/sheet1.xml", `<c t="s"><v>7</v></c><c t="s"><v>-1</v></c>`), "7\t-1\t\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := office.Text(strings.NewReader(test.content), int64(len(test.content)), "")
			if err != nil || got != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestTextIsBounded(t *testing.T) {
	const unpacked = 64 << 10
	for name, content := range map[string]string{
		"text":    "<w:t>" + strings.Repeat("bomb ", 20<<10),
		"spaces":  strings.Repeat(" ", 100<<10),
		"a tag":   "<" + strings.Repeat("a", 100<<10),
		"deep":    strings.Repeat("<p><t>", 20<<10),
		"a value": "<a b='" + strings.Repeat("b", 100<<10),
	} {
		t.Run(name, func(t *testing.T) {
			file := packed(t, "word/document.xml", content, "word/header1.xml", "<w:t>never reached</w:t>")
			got, err := office.TextWithin(strings.NewReader(file), int64(len(file)), "", unpacked)
			if err != nil || len(got) > unpacked+1 || strings.Contains(got, "never") {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

// What documents in one another unpack to counts together, and they may be in one another only so deep.
func TestChunksAreBounded(t *testing.T) {
	const unpacked = 64 << 10
	holding := func(text string, chunks ...string) string {
		files, refers := []string{"word/document.xml", "<w:p><w:t>" + text + "</w:t></w:p>"}, ""
		for i, chunk := range chunks {
			refers += fmt.Sprintf(`<Relationship Id="r%d" Type="x/aFChunk" Target="c%d"/>`, i, i)
			files = append(files, fmt.Sprint("word/c", i), chunk)
		}
		return packed(t, append(files, "word/_rels/document.xml.rels", "<Relationships>"+refers+"</Relationships>", "[Content_Types].xml", "<x/>")...)
	}
	file := holding("outer", slices.Repeat([]string{holding(strings.Repeat("bomb ", 3<<10))}, 20)...)
	if got, err := office.TextWithin(strings.NewReader(file), int64(len(file)), "", unpacked); err != nil || !strings.Contains(got, "bomb") || len(got) > unpacked {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	file = "innermost"
	for n := range 40 {
		file = holding(fmt.Sprint("level ", n), file)
	}
	if got, err := office.Text(strings.NewReader(file), int64(len(file)), ""); err != nil || !strings.Contains(got, "level 35\n") || strings.Contains(got, "level 20\n") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestUnreadable(t *testing.T) {
	whole := packed(t, "word/document.xml", docx)
	many := packed(t, slices.Repeat([]string{strings.Repeat("x", 60_000), ""}, 20)...) // a directory of 1.2 MB
	lying := []byte(many)
	end := bytes.LastIndex(lying, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint32(lying[end+12:], 46)
	for name, content := range map[string]string{
		"nothing": "", "no archive": "text", "cut": whole[:len(whole)-30], "no text": packed(t, "mimetype", "x"), "a large directory": many, "lying": string(lying),
	} {
		if got, err := office.Text(strings.NewReader(content), int64(len(content)), ""); !errors.Is(err, office.ErrUnreadable) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A document without its main part is not readable, whatever else of it is.
func TestWithoutItsMainPart(t *testing.T) {
	const ooxml, relations = "application/vnd.openxmlformats-officedocument.", `<Relationships><Relationship Type="x/officeDocument" Target="%s"/></Relationships>`
	beside := []string{"word/header1.xml", "<w:p><w:t>beside</w:t></w:p>", "xl/worksheets/sheet1.xml", "<c><v>beside</v></c>", "ppt/slides/slide1.xml", "<a:p><a:t>beside</a:t></a:p>", "styles.xml", "<text:p>beside</text:p>"}
	for media, main := range map[string]string{
		ooxml + "wordprocessingml.document": "word/document.xml", ooxml + "spreadsheetml.sheet": "xl/workbook.xml", ooxml + "presentationml.presentation": "ppt/presentation.xml",
		"application/vnd.oasis.opendocument.text": "content.xml",
	} {
		for name, files := range map[string][]string{
			"missing": {}, "empty": {main, ""}, "only a declaration": {main, `<?xml version="1.0"?>`}, "encrypted": {main, "\x8d\x00\xfe<"}, "led to and empty": {"_rels/.rels", fmt.Sprintf(relations, main), main, "\r\n"},
		} {
			file := packed(t, append(files, beside...)...)
			if got, err := office.Text(strings.NewReader(file), int64(len(file)), media); !errors.Is(err, office.ErrUnreadable) || !strings.Contains(got, "beside") {
				t.Errorf("%s: %s: %q, %v", media, name, got, err)
			}
		}
		file := packed(t, append(beside, main, "<x/>")...)
		if _, err := office.Text(strings.NewReader(file), int64(len(file)), media); err != nil {
			t.Errorf("%s: %v", media, err)
		}
	}
}

// FuzzText reads anything, as an archive, as a file in one, and as a document that is one file.
func FuzzText(f *testing.F) {
	for _, file := range odd.Files() {
		if office.Is(file.Type) {
			f.Add(file.Content, file.Type)
		}
	}
	f.Add([]byte(odt), "application/vnd.oasis.opendocument.text-flat-xml")
	f.Add([]byte(`<sst><si><t>x</t></si></sst><c t="s"><v>0</v></c><row></row>`), "")
	f.Add([]byte(`<Relationships><Relationship Id="a" Type="x/worksheet" Target="../a.xml"/></Relationships>`), "")
	f.Fuzz(func(t *testing.T, content []byte, media string) {
		_, _ = office.Text(bytes.NewReader(content), int64(len(content)), media)
		for _, name := range []string{"word/document.xml", "content.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "word/charts/chart1.xml", "_rels/.rels", "xl/_rels/workbook.xml.rels", "word/afchunk1.htm"} {
			file := packed(t, name, string(content), "xl/workbook.xml", "<t>end</t>", "word/document.xml", `<w:t r:id="a">end</w:t>`)
			if _, err := office.Text(strings.NewReader(file), int64(len(file)), ""); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// FuzzType asks for the type of anything, and of archives whose description is anything: it is one of office documents.
func FuzzType(f *testing.F) {
	for _, file := range odd.Files() {
		f.Add(file.Content)
	}
	for _, describes := range []string{
		"application/vnd.oasis.opendocument.text", `<Types><Override PartName="/word/document.xml" ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/></Types>`,
		`<Relationships><Relationship Type="x/officeDocument" Target="word/document.xml"/></Relationships>`, `<manifest><file-entry full-path="/" media-type="application/vnd.oasis.opendocument.text"/></manifest>`,
	} {
		f.Add([]byte(describes))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		files := []string{string(content)}
		for _, name := range []string{"mimetype", "[Content_Types].xml", "_rels/.rels", "META-INF/manifest.xml"} {
			files = append(files, packed(t, "word/document.xml", "", name, string(content)))
		}
		for _, file := range files {
			media := office.Type(strings.NewReader(file), int64(len(file)), []byte(file[:min(len(file), 64<<10)]))
			if _, _, err := mime.ParseMediaType(media); media != "" && (err != nil || strings.ContainsAny(media, "; ")) {
				t.Errorf("%q", media)
			}
		}
	})
}
