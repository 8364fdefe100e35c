package odd

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf16"
)

// File is a file of which a service is to tell the type and the text.
type File struct {
	Name    string // what is odd
	As      string // its file name
	Content []byte
	Type    string
	Words   []string // that its text has, in this order; the first one is in no other file
	Not     string   // what its text has not

	Unreadable bool // it is not a whole document, or a damaged one
}

const (
	word  = "application/vnd.openxmlformats-officedocument.wordprocessingml."
	excel = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	point = "application/vnd.openxmlformats-officedocument.presentationml."
	open  = "application/vnd.oasis.opendocument."
	plain = "text/plain; charset=utf-8"
)

// Files returns office files, texts and archives that are not what the books say.
func Files() (all []File) {
	for _, some := range [][]File{wordFiles(), excelFiles(), pointFiles(), openFiles(), flatFiles(), compoundFiles(), textFiles(), archiveFiles()} {
		all = append(all, some...)
	}
	return all
}

func fileOf(name, as, media, content string, words ...string) File {
	return File{Name: name, As: as, Content: []byte(content), Type: media, Words: words}
}

func (f File) damaged() File {
	f.Unreadable = true
	return f
}

func (f File) without(word string) File {
	f.Not = word
	return f
}

// zipped makes an archive of files, given as name, content, name, content. A name that begins with "=" is of one that
// is not compressed.
func zipped(files ...string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		header := &zip.FileHeader{Name: files[i], Method: zip.Deflate}
		if name, stored := strings.CutPrefix(files[i], "="); stored {
			header.Name, header.Method = name, zip.Store
		}
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			panic(err) // a buffer takes everything
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// noise is nothing that can be compressed.
func noise(length int) string {
	b := make([]byte, length)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return string(b)
}

// types is a [Content_Types].xml with the type of a part.
func types(part, media string) string {
	return `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/` + part + `" ContentType="` + media + `.main+xml"/></Types>`
}

// leads is a .rels that leads to parts, given as role, target, role, target; their ids are r1, r2 and so on.
func leads(to ...string) string {
	return leadsBy("http://schemas.openxmlformats.org/officeDocument/2006/relationships", to...)
}

func leadsBy(base string, to ...string) string {
	b := strings.Builder{}
	for i := 0; i < len(to); i += 2 {
		fmt.Fprintf(&b, `<Relationship Id="r%d" Type="%s/%s" Target="%s"/>`, i/2+1, base, to[i], to[i+1])
	}
	return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` + b.String() + `</Relationships>`
}

const (
	typesXML = "[Content_Types].xml"
	relsXML  = "_rels/.rels"
	docXML   = "word/document.xml"
	bookXML  = "xl/workbook.xml"
	showXML  = "ppt/presentation.xml"
)

// paragraphs are of WordprocessingML, in an element of that name.
func paragraphs(element string, texts ...string) string {
	b := strings.Builder{}
	for _, s := range texts {
		b.WriteString("<w:p><w:r><w:t>" + s + "</w:t></w:r></w:p>")
	}
	return "<w:" + element + ` xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` + b.String() + "</w:" + element + ">"
}

// drawn is a text of DrawingML, in an element of that name.
func drawn(element, text string) string {
	return "<" + element + ` xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:p><a:r><a:t>` + text + "</a:t></a:r></a:p></" + element + ">"
}

// docx is a document with more files behind it.
func docx(text string, more ...string) string {
	return zipped(append([]string{typesXML, types(docXML, word+"document"), relsXML, leads("officeDocument", docXML), docXML, paragraphs("document", text)}, more...)...)
}

func wordFiles() []File {
	three := []string{typesXML, types(docXML, word+"document"), relsXML, leads("officeDocument", docXML), docXML}
	const media = word + "document"
	return []File{
		fileOf("a large picture in front", "a.docx", media, zipped(append([]string{"=docProps/thumbnail.jpeg", noise(8192)}, append(three, paragraphs("document", "Bildquitte"))...)...), "Bildquitte"),
		fileOf("a theme in front", "a", media, zipped(append([]string{"theme/theme1.xml", "<a/>"}, append(three, paragraphs("document", "Themenquitte"))...)...), "Themenquitte"),
		fileOf("padding behind", "a.docx", media, docx("Padquitte")+strings.Repeat("\x00", 600), "Padquitte"),
		fileOf("another file name", "a.pdf", media, docx("Namensquitte"), "Namensquitte"),
		fileOf("backslashes in Word", "a.docx", media, zipped(typesXML, types(docXML, word+"document"), `word\document.xml`, paragraphs("document", "Rückquitte")), "Rückquitte"),
		fileOf("another name of the main part", "a.docx", media, zipped(typesXML, types("word/main.xml", media), relsXML, leads("officeDocument", "word/main.xml"), "word/main.xml", paragraphs("document", "Hauptquitte")), "Hauptquitte"),
		fileOf("a main part at the top", "a.docx", media, zipped(typesXML, types("main.xml", media), relsXML, leads("officeDocument", `\main.xml`), "main.xml", paragraphs("document", "Obenquitte")), "Obenquitte"),
		fileOf("strict, and escaped names", "a.docx", media, zipped(typesXML, types("word/h%C3%A4upt.xml", media),
			relsXML, leadsBy("http://purl.oclc.org/ooxml/officeDocument/relationships", "officeDocument", "/word/h%C3%A4upt.xml"), "word/häupt.xml", paragraphs("document", "Strengquitte")), "Strengquitte"),
		fileOf("no relationships and no types", "a.docx", media, zipped(typesXML, "<Types/>", docXML, paragraphs("document", "Losequitte"), "word/header1.xml", paragraphs("hdr", "Kopf")), "Losequitte", "Kopf"),
		fileOf("a type by the extension", "a.docx", word+"template", zipped(typesXML, `<Types><Default Extension="xml" ContentType="`+word+`template.main+xml"/></Types>`, relsXML, leads("officeDocument", docXML), docXML, paragraphs("document", "Standardquitte")), "Standardquitte"),
		fileOf("a template with macros", "a.dotm", "application/vnd.ms-word.template.macroEnabled.12", zipped(typesXML, types(docXML, "application/vnd.ms-word.template.macroEnabledTemplate"), relsXML, leads("officeDocument", docXML), docXML, paragraphs("document", "Makroquitte")), "Makroquitte"),
		fileOf("all parts", "a.docx", media, docx("Textquitte", "word/_rels/document.xml.rels",
			leads("comments", "notes/c.xml", "endnotes", "e.xml", "footnotes", "f.xml", "header", "/word/h.xml", "footer", "../word/u.xml", "diagramData", "d.xml", "chart", "charts/c.xml", "hyperlink", "https://example.org"),
			"word/notes/c.xml", paragraphs("comments", "Kommentar"), "word/e.xml", paragraphs("endnotes", "Endnote"), "word/f.xml", paragraphs("footnotes", "Fußnote"),
			"word/h.xml", paragraphs("hdr", "Kopf"), "word/u.xml", paragraphs("ftr", "Unten"), "word/d.xml", drawn("dgm:dataModel", "Schaubild"),
			"word/charts/c.xml", `<c:chart><c:cat><c:pt><c:v>Rubrik</c:v></c:pt><c:pt><c:v>Sparte</c:v></c:pt></c:cat></c:chart>`),
			"Textquitte", "Kopf", "Unten", "Fußnote", "Endnote", "Kommentar", "Schaubild", "Rubrik", "Sparte").without("RubrikSparte"),
		fileOf("styles with tabs", "a.docx", media, docx("Tabquitte", "word/_rels/document.xml.rels", leads("styles", "styles.xml"), "word/styles.xml", "<w:styles><w:tabs><w:tab/></w:tabs></w:styles>"), "Tabquitte\n").without("\t"),
		fileOf("parts without relationships", "a.docx", media, docx("Einzelquitte", "word/charts/chart1.xml", drawn("c:chart", "Torte"), "word/diagrams/data1.xml", drawn("dgm:dataModel", "Schaubild"), "word/comments.xml", paragraphs("comments", "Kommentar")),
			"Einzelquitte", "Kommentar", "Schaubild", "Torte"),
		fileOf("UTF-16", "a.docx", media, zipped(append(three, utf16Text(`<?xml version="1.0" encoding="UTF-16"?>`+paragraphs("document", "Breitquitte")))...), "Breitquitte"),
		fileOf("Latin-1", "a.docx", media, zipped(append(three, `<?xml version="1.0" encoding="ISO-8859-1"?>`+paragraphs("document", "Westq\xfctte"))...), "Westqütte"),
		fileOf("other documents in it", "a.docx", media, zipped(typesXML, types(docXML, media), relsXML, leads("officeDocument", docXML), docXML,
			`<w:document xmlns:r="r" xmlns:w="w"><w:p><w:t>Rahmenquitte</w:t></w:p><w:altChunk r:id="r2"/><w:altChunk r:id="r1"/><w:altChunk r:id="r4"/><w:altChunk r:id="r3"/><w:altChunk r:id="r5"/></w:document>`,
			"word/_rels/document.xml.rels", leads("aFChunk", "/word/afchunk.rtf", "aFChunk", "/word/afchunk1.htm", "aFChunk", "other.docx", "aFChunk", "../c.mht", "aFChunk", "d.txt"),
			"word/afchunk.rtf", `{\rtf1\ansi Gr\'fc\'dfe in RTF\par}`, "word/afchunk1.htm", "<html><head><meta charset=windows-1252><style>p{}</style></head><body><p>M\xfcller in HTML</p></body></html>",
			"word/other.docx", docx("Inneres", "word/_rels/document.xml.rels", leads("aFChunk", "../x.html"), "x.html", "<p>Innerstes</p>"),
			"c.mht", "MIME-Version: 1.0\r\n"+multipart("related", "bb", "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>Netz=\r\nseite</p>"), "word/d.txt", "Blo\xc3\x9fer Text"),
			"Rahmenquitte", "Müller in HTML", "Grüße in RTF", "Netzseite", "Inneres", "Innerstes", "Bloßer Text").without("p{}"),
		fileOf("an empty main part", "a.docx", media, zipped(append(three, "", "word/footer1.xml", paragraphs("ftr", "Leerquitte"))...), "Leerquitte").damaged(),
		fileOf("no main part", "a.docx", media, zipped(typesXML, types(docXML, media), relsXML, leads("officeDocument", docXML), "word/styles.xml", "<w:styles/>", "word/footer1.xml", paragraphs("ftr", "Unterquitte")), "Unterquitte").damaged(),
		fileOf("nothing in the main part", "a.docx", media, docx("", "word/diagrams/data1.xml", drawn("dgm:dataModel", "Nurquitte")), "Nurquitte"),
	}
}

// utf16Text is a text in UTF-16 with a byte order mark.
func utf16Text(s string) string {
	b := []byte("\xff\xfe")
	for _, c := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, c)
	}
	return string(b)
}

const (
	oneCell  = `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row></sheetData></worksheet>`
	inSheet  = `<worksheet xmlns:r="r"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>%s</t></is></c></row></sheetData><drawing r:id="r1"/></worksheet>`
	inShared = `<sst><si><t>%s</t></si></sst>`
)

func excelFiles() []File {
	const media = excel + "sheet"
	kinds := types(bookXML, media)
	shared := func(text string) string { return fmt.Sprintf(inShared, text) }
	return []File{
		fileOf("backslashes in Excel", "a.xlsx", media, zipped(typesXML, kinds, `xl\workbook.xml`, "<workbook/>", `xl\sharedStrings.xml`, shared("Schrägquitte"), `xl\worksheets\sheet1.xml`, oneCell), "Schrägquitte"),
		fileOf("slashes in front", "a.xlsx", media, zipped("/"+typesXML, kinds, "/xl/workbook.xml", "<workbook/>", "/xl/sharedStrings.xml", shared("Vornquitte"), "/xl/worksheets/sheet1.xml", oneCell), "Vornquitte"),
		fileOf("a header, a footer and the name of a sheet", "a.xlsx", media, zipped(typesXML, kinds, relsXML, leads("officeDocument", bookXML), bookXML, `<workbook><sheets><sheet name="Reiterquitte" sheetId="1"/></sheets></workbook>`,
			"xl/worksheets/sheet1.xml", `<worksheet><sheetData/><headerFooter><oddHeader>&amp;L&amp;"Arial,Bold"&amp;14Kopfquitte&amp;CSeite &amp;P</oddHeader><firstFooter>Fussquitte &amp;K01+000</firstFooter></headerFooter></worksheet>`), "Reiterquitte", "Kopfquitte", "Seite", "Fussquitte"),
		fileOf("capitals", "a.xlsx", media, zipped(typesXML, kinds, "xl/Workbook.xml", "<workbook/>", "xl/SharedStrings.xml", shared("Grossquitte"), "xl/worksheets/Sheet1.xml", oneCell), "Grossquitte"),
		fileOf("small letters", "a.xlsx", media, zipped("[content_types].xml", kinds, bookXML, "<workbook/>", "xl/sharedStrings.xml", shared("Kleinquitte"), "xl/worksheets/sheet1.xml", oneCell), "Kleinquitte"),
		fileOf("another type in the list", "a.xlsx", media, zipped(typesXML, types(bookXML, word+"document"), bookXML, "<workbook/>", "xl/sharedStrings.xml", shared("Falschquitte"), "xl/worksheets/sheet1.xml", oneCell), "Falschquitte"),
		fileOf("sheets in another order", "a.xlsm", "application/vnd.ms-excel.sheet.macroEnabled.12", zipped(typesXML, types("xl/book2.xml", "application/vnd.ms-excel.sheet.macroEnabled"),
			relsXML, leads("officeDocument", "xl/book2.xml"), "xl/_rels/book2.xml.rels", leads("worksheet", "a.xml", "worksheet", "b.xml", "sharedStrings", "s.xml"),
			"xl/book2.xml", `<workbook xmlns:r="r"><sheets><sheet name="2" r:id="r2"/><sheet name="1" r:id="r1"/></sheets></workbook>`,
			"xl/a.xml", oneCell, "xl/s.xml", shared("danach"), "xl/b.xml", fmt.Sprintf(inSheet, "Blattquitte"),
			"xl/_rels/b.xml.rels", leads("drawing", "zeichnung.xml", "comments", "anmerkung.xml", "threadedComment", "faden.xml"), "xl/zeichnung.xml", drawn("xdr:wsDr", "Textfeld"),
			"xl/anmerkung.xml", `<comments><comment><text><r><t>Anmer</t></r><r><t>kung</t></r></text></comment></comments>`, "xl/faden.xml", `<x><threadedComment><text>Antwort</text></threadedComment></x>`),
			"Blattquitte", "danach", "Anmerkung", "Antwort", "Textfeld"),
		fileOf("no shared strings in the relationships", "a.xlsx", media, zipped(typesXML, kinds, relsXML, leads("officeDocument", bookXML), bookXML, "<workbook/>", "xl/worksheets/sheet1.xml", oneCell, "xl/sharedStrings.xml", shared("Tabellenquitte")), "Tabellenquitte"),
	}
}

func pointFiles() []File {
	const media = point + "presentation"
	large := strings.Builder{}
	for i := range 600 {
		fmt.Fprintf(&large, `<Override PartName="/ppt/slides/slide%d.xml" ContentType="%sslide+xml" x="%x"/>`, i, point, noise(600 * 8)[8*i:][:8])
	}
	return []File{
		fileOf("a large list of types", "a.pptx", media, zipped(typesXML, "<Types>"+large.String()+"</Types>", relsXML, leads("officeDocument", showXML), showXML, "<p/>", "ppt/slides/slide1.xml", drawn("p:sld", "Folienquitte")), "Folienquitte"),
		fileOf("slides in another order", "a.ppsx", point+"slideshow", zipped(typesXML, types(showXML, point+"slideshow"), relsXML, leads("officeDocument", showXML),
			"ppt/_rels/presentation.xml.rels", leads("slideMaster", "master.xml", "slide", "slides/slide1.xml", "slide", "slides/slide2.xml"),
			showXML, `<p:presentation xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="r3"/><p:sldId id="257" r:id="r2"/></p:sldIdLst></p:presentation>`,
			"ppt/slides/slide1.xml", drawn("p:sld", "Zweite"), "ppt/slides/slide2.xml", drawn("p:sld", "Erstquitte"), "ppt/master.xml", drawn("p:sldMaster", "Mustertext"),
			"ppt/slides/_rels/slide2.xml.rels", leads("notesSlide", "../notes/n.xml", "comments", "c.xml"), "ppt/notes/n.xml", drawn("p:notes", "Notiz"), "ppt/slides/c.xml", "<p:cmLst><p:cm><p:text>Meinung</p:text></p:cm></p:cmLst>"),
			"Erstquitte", "Zweite", "Meinung", "Notiz").without("Mustertext"),
	}
}

const officeNS = "urn:oasis:names:tc:opendocument:xmlns:"

// openXML is a file of OpenDocument with a paragraph.
func openXML(root, text string) string {
	return "<office:" + root + ` xmlns:office="` + officeNS + `office:1.0" xmlns:text="` + officeNS + `text:1.0" office:mimetype="` + open + `text"><office:body><text:p>` + text + "</text:p></office:body></office:" + root + ">"
}

func openFiles() []File {
	manifest := `<m:manifest xmlns:m="` + officeNS + `manifest:1.0"><m:file-entry m:full-path="content.xml" m:media-type="text/xml"/><m:file-entry m:full-path="/" m:media-type="` + open + `text"/></m:manifest>`
	content := func(text string) string { return openXML("document-content", text) }
	return []File{
		fileOf("a compressed mimetype", "a.odt", open+"text", zipped("mimetype", open+"text", "content.xml", content("Deflatquitte")), "Deflatquitte"),
		fileOf("a mimetype behind", "a.odt", open+"text", zipped("content.xml", content("Hintenquitte"), "=mimetype", open+"text\n"), "Hintenquitte"),
		fileOf("no mimetype", "a.odt", open+"text", zipped("content.xml", content("Manifestquitte"), "META-INF/manifest.xml", manifest), "Manifestquitte"),
		fileOf("a letterhead in styles.xml", "a.ott", open+"text-template", zipped("styles.xml", openXML("document-styles", "Briefkopf"), "=mimetype", open+"text-template", "content.xml", content("Stilquitte")), "Stilquitte", "Briefkopf"),
		fileOf("a footnote", "a.odt", open+"text", zipped("=mimetype", open+"text", "content.xml", content("Briefquitte<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Notenquitte</text:p></text:note-body></text:note>")), "Briefquitte", "Notenquitte"),
		fileOf("a chart", "a.ods", open+"spreadsheet", zipped("=mimetype", open+"spreadsheet", "Object 1/content.xml", content("Diagramm"), "content.xml", content("Rechenquitte")), "Rechenquitte", "Diagramm"),
		fileOf("a program before OpenDocument", "a.sxw", "application/vnd.sun.xml.writer", zipped("=mimetype", "application/vnd.sun.xml.writer", "content.xml", content("Sternquitte")), "Sternquitte"),
	}
}

func flatFiles() []File {
	const wordNS, sheetNS = "http://schemas.microsoft.com/office/word/2003/wordml", "urn:schemas-microsoft-com:office:spreadsheet"
	image := `Flachquitte<draw:image><office:binary-data>iVBORw0KGgo</office:binary-data></draw:image> danach`
	old := strings.ReplaceAll(paragraphs("wordDocument", "Altquitte", "danach"), "http://schemas.openxmlformats.org/wordprocessingml/2006/main", wordNS)
	parts := `<?xml version="1.0"?><?mso-application progid="Word.Document"?><pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage"><pkg:part pkg:name="/word/document.xml"><pkg:xmlData>` +
		paragraphs("document", "Paketquitte") + `</pkg:xmlData></pkg:part><pkg:part pkg:name="/word/media/a.png"><pkg:binaryData>iVBORw0KGgo</pkg:binaryData></pkg:part></pkg:package>`
	book := `<?xml version="1.0"?><Workbook xmlns="` + sheetNS + `" xmlns:ss="` + sheetNS + `"><Worksheet ss:Name="1"><Table><Row><Cell><Data ss:Type="String">Zellquitte</Data></Cell><Cell><Data ss:Type="Number">17</Data></Cell></Row></Table></Worksheet></Workbook>`
	return []File{
		fileOf("flat OpenDocument", "a.fodt", open+"text-flat-xml", `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+openXML("document", image), "Flachquitte", "danach").without("iVBOR"),
		fileOf("flat OpenDocument in UTF-16", "a.xml", open+"text-flat-xml", utf16Text(`<?xml version="1.0" encoding="UTF-16"?>`+openXML("document", "Flachbreit")), "Flachbreit"),
		fileOf("flat OpenDocument with many names", "a.fodt", open+"text-flat-xml", strings.Replace(openXML("document", "Langquitte"), " xmlns:text", strings.Repeat("\n", 9000)+" xmlns:text", 1), "Langquitte").without("xmlns"),
		fileOf("Word in one XML", "a.doc", "application/vnd.ms-word2006ml", parts, "Paketquitte").without("iVBOR"),
		fileOf("Word 2003 XML", "a.xml", "application/vnd.ms-wordml", old, "Altquitte", "danach").without("wordml"),
		fileOf("Excel 2003 XML", "a.xls", "application/vnd.ms-spreadsheetml", book, "Zellquitte", "17").without("Zellquitte17"),
		fileOf("another XML", "a.xml", "text/xml; charset=utf-8", `<?xml version="1.0"?><x:stylesheet xmlns:x="x" xmlns:w="`+wordNS+`">Andersquitte</x:stylesheet>`, "Andersquitte", "stylesheet"),
		fileOf("a web page in one file", "a.mht", "message/rfc822", "MIME-Version: 1.0\r\n"+multipart("related", "bb", "Content-Type: text/html; charset=utf-8\r\nContent-Location: file:///a.htm\r\n\r\n<p>Netz<b>quitte</b></p>"), "Netzquitte").without("Content-Location"),
		fileOf("a web page as a workbook", "a.xls", "text/html; charset=utf-8", "<html><table><tr><td>Webquitte</td></tr></table></html>", "Webquitte").without("td"),
		fileOf("a letter in RTF as a text", "a.txt", "text/rtf", `{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}\f0 Sehr geehrter Herr M\'fcllerquitte, K\u252?ndigung\par}`, "Müllerquitte", "Kündigung").without("Arial"),
		fileOf("RTF of which the beginning is left", "a.rtf", "text/rtf", `{\rtf1\ansi{\fonttbl{\f0 Arial;}}{\pict 0102`).damaged(),
		fileOf("a letter in RTF as one of Word", "a.doc", "text/rtf", "\r\n"+`{\rtf1\ansi Wortquitte\par}`, "Wortquitte").without("rtf1"),
	}
}

func compoundFiles() []File {
	with := func(names ...string) string {
		streams := map[string][]byte{"\x05SummaryInformation": []byte("x")}
		for _, name := range names {
			streams[name] = []byte(strings.Repeat(name, 300))
		}
		return string(Compound(streams))
	}
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf("MBD%05d/WordDocument", i)
	}
	return []File{
		fileOf("an old document", "a", "application/msword", with("WordDocument", "1Table")),
		fileOf("an old workbook", "a.doc", "application/vnd.ms-excel", with("Workbook")),
		fileOf("an older workbook", "a.xls", "application/vnd.ms-excel", with("Book")),
		fileOf("a workbook with documents", "a.xls", "application/vnd.ms-excel", with(append(many, "Workbook")...)),
		fileOf("an old presentation", "a.ppt", "application/vnd.ms-powerpoint", with("PowerPoint Document", "Pictures")),
		fileOf("an e-mail of Outlook", "a.msg", "application/vnd.ms-outlook", with("__properties_version1.0", "__substg1.0_1000001F", "__attach_version1.0_#00000000/__substg1.0_3701000D/WordDocument")),
		fileOf("an e-mail of Outlook with a text", "a.txt", "application/vnd.ms-outlook", string(Compound(map[string][]byte{
			"__properties_version1.0": make([]byte, 32), "__substg1.0_0037001F": []byte(utf16Text("Betreffquitte")[2:]), "__substg1.0_1000001F": []byte(utf16Text("Nachrichtquitte")[2:]),
			"__attach_version1.0_#00000000/__properties_version1.0": nil, "__attach_version1.0_#00000000/__substg1.0_3707001F": []byte(utf16Text("Anhang.pdf")[2:]),
		})), "Betreffquitte", "Anhang.pdf", "Nachrichtquitte"),
		fileOf("another compound file", "a.doc", "application/x-ole-storage", with("Contents", "ObjectPool/1/WordDocument")),
	}
}

func textFiles() (all []File) {
	for _, begin := range []string{
		"MZ", "BM", "BMW", "GIF89a", "GIF87a", "ID3", "8BPS", ".snd", "II*", "MM", "MThd", "CWS", "FWS", "wOFF", "wOF2", "AC1015", "OggS", "fLaC", "RIFF", "FORM", "PK", "Rar!", "7z", "%!", "P1", "P6 ",
		"BZh", "LZIP", "CAFE", "Cr24", "SQLite", "MAC ", "MPCK", "#!AMR", "OTTO", "ttcf", "true", "ITSF", "qcp", "DICM", "MSCF", "ISc(", "SIT!", "070707", "d8:announce", "TZif", "gimp xcf", "GRIB", "BUFR", "PAR1", "Creative Voice", "BOOKMOBI",
		"<MakerFile", "ftyp", "moov", "%PDF", "Received",
	} {
		all = append(all, fileOf("a text that begins "+begin, "a", plain, begin+fmt.Sprintf(" Anfang%dquitte, und so weiter\n", len(all)), fmt.Sprintf("Anfang%dquitte", len(all))))
	}
	mail := usualFields + "Subject: %PDF-1.4\r\n\r\nMailquitte\r\n"
	return append(all,
		fileOf("a text about PDF", "a.txt", plain, "x%PDF-1.4\n Pdfquitte\n", "Pdfquitte"),
		fileOf("a table about PDF", "a.csv", "text/csv; charset=utf-8", "a;%PDF-1.7\nCsvquitte;1\n", "Csvquitte"),
		fileOf("a page about PDF", "a", "text/html; charset=utf-8", "<html><p>%PDF-1.7 is Htmlquitte</p></html>", "Htmlquitte").without("html"),
		fileOf("a page with a title", "a.html", "text/html; charset=utf-8", "<html><head><title>K&ouml;pfquitte\n2026</title><style>p{}</style></head><body><p>Rumpf</p></body></html>", "Köpfquitte 2026\n", "Rumpf").without("p{}"),
		fileOf("an e-mail about PDF", "a.eml", "message/rfc822", mail, "Mailquitte"),
		fileOf("an e-mail with a PDF as it is", "a", "message/rfc822", usualFields+multipart("mixed", "bb", "Content-Type: text/plain\r\n\r\nRohquitte", fieldsOfA+"\r\n\r\n"+SmallPDF), "Rohquitte"),
		fileOf("PostScript", "a.ps", "application/postscript", "%!PS-Adobe-3.0\n/Times findfont\n"),
		fileOf("a text in UTF-16", "a.txt", "text/plain; charset=utf-16le", utf16Text("Weitquitte und mehr\n"), "Weitquitte"),
		fileOf("a text in UTF-16 without a mark", "a.txt", "text/plain; charset=utf-16le", utf16Text("Marklosquitte für 17 €\r\n")[2:], "Marklosquitte", "für 17 €"),
		fileOf("a table in UTF-16 without a mark", "a.csv", "text/csv; charset=utf-16le", utf16Text("Айва;Breitzeile\n")[2:], "Айва", "Breitzeile"),
		fileOf("JSON in UTF-16 without a mark", "a.json", "application/json", utf16Text(`{"a": "Jsonquitte"}`)[2:], "Jsonquitte"),
		fileOf("a text of Windows", "a", "text/plain", "MZ Fensterq\xfctte und Stra\xdfe\n", "Fensterqütte", "Straße"),
	)
}

func archiveFiles() []File {
	pdf := "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<<>>endobj\n%%EOF\n"
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "a.pdf", Mode: 0o600, Size: int64(len(pdf))}); err != nil {
		panic(err)
	}
	if _, err := w.Write([]byte(pdf)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return []File{
		fileOf("a tar with a PDF", "a.tar", "application/x-tar", b.String()),
		fileOf("a zip with a PDF", "a.zip", "application/zip", zipped("=a.pdf", pdf)),
		fileOf("a zip with a document", "a.zip", "application/zip", zipped("=a.docx", docx("Drin"))),
		fileOf("a zip with the files of a document", "a.docx", "application/zip", zipped("brief/"+typesXML, types(docXML, word+"document"), "brief/"+docXML, paragraphs("document", "Drin"))),
		fileOf("a zip that claims to be a PDF", "a.zip", "application/zip", zipped("mimetype", "application/pdf")),
		fileOf("a book", "a.epub", "application/epub+zip", zipped("mimetype", "application/epub+zip",
			"OEBPS/a.opf", `<package><metadata><dc:title>Romanquitte</dc:title><dc:creator>Autorin</dc:creator></metadata><manifest><item id="a" href="Text/ch1.xhtml"/><item id="b" href="Text/ch2.xhtml"/></manifest><spine><itemref idref="b"/><itemref idref="a"/></spine></package>`,
			"OEBPS/Text/ch1.xhtml", "<html><body><p>Schlusswort</p></body></html>", "OEBPS/Text/ch2.xhtml", "<html><head><title>Titelquitte</title><style>p{}</style></head><body><h1>Kapitel</h1><p>Buch<i>quitte</i></p><script/></body></html>"), "Romanquitte", "Autorin", "Titelquitte", "Kapitel", "Buchquitte", "Schlusswort"),
		fileOf("a book without pages", "a.epub", "application/epub+zip", zipped("mimetype", "application/epub+zip", "content.opf", "<package/>")),
		fileOf("a zip that is cut off", "a.docx", word+"document", docx("Drin")[:len(docx("Drin"))-30]).damaged(),
	}
}
