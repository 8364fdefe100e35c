// Package pdftest has PDFs as scanners, printers, mail servers and cancelled copies leave them. The mount
// and the service are tested with the same ones, because they have to agree which are whole.
package pdftest

import (
	_ "embed"
	"fmt"
	"strings"
)

// Pages is the page count of each whole PDF.
const Pages = 3

// The linearised ones were made of Plain by qpdf 11.3.0 --linearize --deterministic-id, the second with
// --object-streams=generate. The first has an end behind its first page, too.
var (
	//go:embed testdata/table.pdf
	linearised string
	//go:embed testdata/stream.pdf
	linearisedStream string
)

// Vector is a PDF, or what is left of one.
type Vector struct {
	Name    string
	Content string
	Whole   bool
}

// Plain is a PDF with a table of cross-references, and files in it that are not compressed. Its offsets are
// those behind front bytes.
func Plain(front int, files ...string) string {
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 3/Kids[4 0 R 6 0 R 8 0 R]>>", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"}
	for page := range Pages {
		text := fmt.Sprintf("BT /F1 18 Tf 72 700 Td (Page %d) Tj ET", page+1)
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", 5+2*page),
			fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(text), text))
	}
	for _, file := range files {
		objects = append(objects, fmt.Sprintf("<</Type/EmbeddedFile/Length %d>>stream\n%s\nendstream", len(file), file))
	}
	var out, table strings.Builder
	out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", front+out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	n := len(objects) + 1
	return fmt.Sprintf("%sxref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", out.String(), n, table.String(), n, front+out.Len())
}

// Updated is a PDF with a second version of its catalog behind it.
func Updated() string {
	before := Plain(0)
	table := strings.LastIndex(before, "xref\n0 ")
	added := before + "1 0 obj\n<</Type/Catalog/Pages 2 0 R/Lang(de)>>\nendobj\n"
	return added + fmt.Sprintf("xref\n1 1\n%010d 00000 n \ntrailer<</Size 10/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", len(before), table, len(added))
}

// Vectors are all of them.
func Vectors() (all []Vector) {
	plain, updated := Plain(0), Updated()
	nuls := func(n int) string { return strings.Repeat("\x00", n) }
	page := strings.Repeat("<div class=\"footer\">1 0 0 <b>not found</b></div>\r\n", 600)
	job := "\x1b%-12345X@PJL JOB NAME=\"Rechnung\"\r\n@PJL ENTER LANGUAGE=PDF\r\n"
	mail := "From: scan@example.org\r\nSubject: a %PDF-1.7 for you\r\nContent-Type: application/pdf\r\n\r\n"
	embedding := Plain(0, updated, "a note")
	add := func(whole bool, name, content string) { all = append(all, Vector{name, content, whole}) }

	for name, content := range map[string]string{"plain": plain, "updated": updated, "linearised": linearised, "linearised, in streams": linearisedStream} {
		add(true, name, content)
		add(true, name+", without its last line break", strings.TrimSuffix(content, "\n"))
		for _, n := range []int{1500, 2500, 4000, 5000, 20000, 80508, 3 << 20} {
			add(true, fmt.Sprintf("%s, %d NULs behind it", name, n), content+nuls(n))
		}
		add(true, name+", blanks behind it", content+strings.Repeat(" \r\n", 30000))
		add(true, name+", HTML behind it", content+page)
		add(true, name+", HTML and NULs behind it", content+page+nuls(70000))
		add(true, name+", megabytes of something behind it", content+strings.Repeat(page, 100))
		for _, front := range []string{"\xef\xbb\xbf", "\r\n\n ", "x", "TEXTmdos \xff\xff", job, mail, nuls(900), strings.Repeat("j", 1024)} {
			add(true, fmt.Sprintf("%s behind %d bytes %.8q", name, len(front), front), front+content)
			add(true, fmt.Sprintf("%s behind %d bytes %.8q, and NULs", name, len(front), front), front+content+nuls(9000))
		}
		end := strings.LastIndex(content, "%%EOF")
		for cut := 30; cut < end+4; cut += 1 + end/150 {
			if behind := cut - len(plain); name == "updated" && behind > -2 && behind < len("1 0 obj") {
				continue // the earlier version, whole
			}
			add(false, fmt.Sprintf("%s, cut at %d", name, cut), content[:cut])
			add(false, fmt.Sprintf("%s, cut at %d, allocated before", name, cut), content[:cut]+nuls(10000))
			add(false, fmt.Sprintf("%s, cut at %d, HTML behind it", name, cut), content[:cut]+"\n"+page)
			add(false, fmt.Sprintf("%s, cut at %d, behind a print job", name, cut), job+content[:cut]+nuls(7))
		}
	}
	add(true, "offsets count from what is in front of it", job+Plain(len(job)))
	add(true, "a PDF that has another one in it", embedding)
	add(false, "cut behind another PDF in it", embedding[:strings.Index(embedding, "a note")])
	first := strings.Index(linearised, "%%EOF") + len("%%EOF\n")
	add(false, "linearised, cut behind its first end", linearised[:first])
	add(false, "linearised, cut behind its first end, allocated before", linearised[:first]+nuls(9000))
	front := strings.Replace(linearised[:first], "startxref\n0\n", fmt.Sprintf("startxref\n%d\n", strings.Index(linearised, "xref\n")), 1)
	add(false, "linearised, cut behind its first end that names its table", front)
	add(false, "linearised, cut behind its first end that names its table, blanks behind it", front+strings.Repeat(" ", 9000))
	return all
}
