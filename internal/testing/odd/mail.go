package odd

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Mail is an e-mail with what a mail program shows of it.
type Mail struct {
	Name    string
	Content []byte
	Subject string
	Words   []string   // that its text has, and in this order
	Files   []Attached // its attachments, in order
	Damaged []int      // of these, which are not whole
}

// Attached is an attachment.
type Attached struct {
	Name string // empty if nobody gave one
	Size int
}

// SmallPDF is the content of most attachments: 57 bytes, so that its base64 fills a line.
const SmallPDF = "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</R 1>>\n%"

// onLines breaks base64 into lines.
func onLines(s string) string {
	encoded, b := base64.StdEncoding.EncodeToString([]byte(s)), strings.Builder{}
	for len(encoded) > 76 {
		b.WriteString(encoded[:76] + "\r\n")
		encoded = encoded[76:]
	}
	return b.String() + encoded
}

const usualFields = "From: Erika Beispiel <erika@example.org>\r\nTo: office@example.org\r\nDate: Tue, 3 Mar 2026 10:00:00 +0100\r\n" +
	"Message-ID: <1@example.org>\r\nMIME-Version: 1.0\r\n"

// plainMail is an e-mail with the subject Angebot, these fields, and a body behind an empty line.
func plainMail(fields, content string) string {
	if fields != "" {
		fields += "\r\n"
	}
	return usualFields + "Subject: Angebot\r\n" + fields + "\r\n" + content
}

// multipart makes the lines of a multipart from its fields on.
func multipart(kind, boundary string, list ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Content-Type: multipart/%s; boundary=\"%s\"\r\n\r\n", kind, boundary)
	for _, p := range list {
		b.WriteString("--" + boundary + "\r\n" + p + "\r\n")
	}
	return b.String() + "--" + boundary + "--\r\n"
}

func mixedMail(list ...string) string {
	return usualFields + "Subject: Angebot\r\n" + multipart("mixed", "bb", list...)
}

// mailWith is an e-mail with a text, these fields of an attachment in base64, and another attachment behind it.
func mailWith(fields string) string { return mixedMail(quittePart, encodedPDF(fields), restPart) }

func encodedPDF(fields string) string {
	return fields + "\r\nContent-Transfer-Encoding: base64\r\n\r\n" + onLines(SmallPDF)
}

const (
	quittePart   = "Content-Type: text/plain; charset=utf-8\r\n\r\nQuittenbrot"
	schlehPart   = "Content-Type: text/plain\r\n\r\nSchlehenmus"
	htmlPart     = "Content-Type: text/html; charset=utf-8\r\n\r\n<html><body><p>Rechnungsnummer QZ-4711</p><p>Quittenbrot</p></body></html>"
	fieldsOfA    = "Content-Type: application/pdf; name=a.pdf\r\nContent-Disposition: attachment; filename=a.pdf"
	fieldsOfRest = "Content-Type: application/pdf\r\nContent-Disposition: attachment; filename=rest.pdf"
	innerMail    = "From: a@example.org\r\nSubject: Innen\r\nContent-Type: text/plain\r\n\r\nHagebutte"
)

var (
	restPart = encodedPDF(fieldsOfRest)
	restPDF  = Attached{"rest.pdf", len(SmallPDF)}
	aPDF     = Attached{"a.pdf", len(SmallPDF)}
)

// Mails returns e-mails that are not what the books say.
func Mails() []Mail {
	all := mailFirstLines()
	for _, more := range [][]Mail{mailHeaders(), mailBoundaries(), mailEncodings(), mailStructures(), mailCharsets(), mailNames(), mailHidden()} {
		all = append(all, more...)
	}
	return all
}

// mailOf has the subject Angebot, and the word Quittenbrot.
func mailOf(name, content string, files ...Attached) Mail {
	return Mail{Name: name, Content: []byte(content), Subject: "Angebot", Words: []string{"Quittenbrot"}, Files: files}
}

// saying has other words.
func (m Mail) saying(words ...string) Mail {
	m.Words = words
	return m
}

func (m Mail) about(subject string) Mail {
	m.Subject = subject
	return m
}

func (m Mail) damaged(files ...int) Mail {
	m.Damaged = files
	return m
}

// mailFirstLines are e-mails that begin otherwise.
func mailFirstLines() []Mail {
	whole := mailWith(fieldsOfA)
	body := strings.Index(whole, "\r\n\r\n")
	cr := strings.ReplaceAll(whole, "\r\n", "\r")
	return []Mail{
		mailOf("as the books say", whole, aPDF, restPDF),
		// jstedfast/MimeKit#1089
		mailOf("a line of Exchange first", "Microsoft Mail Internet Headers Version 2.0\r\n"+whole, aPDF, restPDF),
		mailOf("an empty line first", "\r\n"+whole, aPDF, restPDF),
		mailOf("many empty lines first", strings.Repeat("\n \r\n", 20)+whole, aPDF, restPDF),
		mailOf("a byte order mark", "\xef\xbb\xbf"+whole, aPDF, restPDF),
		mailOf("From of an mbox", "From erika@example.org Tue Mar  3 10:00:00 2026\r\n"+whole, aPDF, restPDF),
		mailOf("quoted From of an mbox", ">From erika@example.org Tue Mar  3 10:00:00 2026\r\n"+whole, aPDF, restPDF),
		mailOf("a status line of POP3", "+OK 4711 octets\r\n"+whole, aPDF, restPDF),
		mailOf("a status line of HTTP", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"+whole, aPDF, restPDF),
		mailOf("a line of Exchange and an empty one", "Microsoft Mail Internet Headers Version 2.0\r\n\r\n"+whole, aPDF, restPDF),
		mailOf("line ends of Unix", strings.ReplaceAll(whole, "\r\n", "\n"), aPDF, restPDF),
		mailOf("line ends of an old Mac", cr, aPDF, restPDF),
		mailOf("line ends with two CR", strings.ReplaceAll(whole, "\r\n", "\r\r\n"), aPDF, restPDF),
		mailOf("a header of Unix", strings.ReplaceAll(whole[:body], "\r\n", "\n")+whole[body:], aPDF, restPDF),
		mailOf("a body of Unix", whole[:body]+strings.ReplaceAll(whole[body:], "\r\n", "\n"), aPDF, restPDF),
		mailOf("a body of an old Mac", whole[:body]+"\r\n"+cr[len(strings.ReplaceAll(whole[:body], "\r\n", "\r")):], aPDF, restPDF),
	}
}

// mailHeaders are e-mails with broken headers.
func mailHeaders() []Mail {
	from := "From: Erika Beispiel <erika@example.org>\r\n"
	multi := multipart("mixed", "bb", quittePart, restPart)
	return []Mail{
		// jstedfast/gmime#52
		mailOf("a subject without its fold", from+"Subject: eine lange Betreffzeile\r\nohne Einzug fortgesetzt\r\nX-Mailer: x\r\n"+multi, restPDF).
			about("eine lange Betreffzeile ohne Einzug fortgesetzt"),
		mailOf("a blank before the colon", "From : Erika\r\nSubject : Angebot\r\n"+multi, restPDF),
		mailOf("a line without a colon", from+"Subject: Angebot\r\n"+"Unfug\r\n"+multi, restPDF).about("Angebot Unfug"),
		mailOf("a line that looks empty", from+"Subject: Angebot\r\n \t\r\n"+multi, restPDF),
		mailOf("an empty line in it", from+"Subject: Angebot\r\n\r\nMIME-Version: 1.0\r\n"+multi, restPDF),
		mailOf("folded by tabs", from+"Subject: Angebot\r\nContent-Type:\r\n\tmultipart/mixed;\r\n\tboundary=\"bb\"\r\n\r\n"+multi[strings.Index(multi, "--bb"):], restPDF),
		mailOf("no header", "Quittenbrot\r\nund Honig\r\n").about("").saying("Quittenbrot", "Honig"),
		mailOf("no empty line", from+"Subject: Angebot\r\nContent-Type: text/plain\r\nGuten Tag,\r\nQuittenbrot anbei.\r\n"),
		mailOf("the end of the header is the end", from+"Subject: Angebot").saying(),
		mailOf("raw UTF-8", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "Grüße", 1)).about("Grüße"),
		mailOf("raw Windows-1252", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "Gr\xfc\xdfe \x80", 1)).about("Grüße €"),
		mailOf("an encoded word with blanks", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "=?utf-8?Q?Gr=C3=BC=C3=9Fe an alle?=", 1)).about("Grüße an alle"),
		mailOf("a divided character", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "=?utf-8?B?R3LD?=\r\n =?utf-8?B?vMOfZQ==?=", 1)).about("Grüße"),
		mailOf("a divided word in Q", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "=?UTF-8?Q?Gr=C3?= =?utf-8?q?=BC=C3=9Fe?=", 1)).about("Grüße"),
		mailOf("a wrong name of a character set", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "=?utf-8-mac?Q?Gr=C3=BC=C3=9Fe?=", 1)).about("Grüße"),
		mailOf("an encoded word in quotes", strings.Replace(plainMail("", "Quittenbrot"), "Erika Beispiel", `"=?utf-8?Q?M=C3=BCller?="`, 1)).saying("Müller", "Quittenbrot"),
		mailOf("an encoded word with a language", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "=?iso-8859-1*de?Q?Gr=FC=DFe?=", 1)).about("Grüße"),
		mailOf("an encoded word without padding", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "=?utf-8?B?R3LDvMOfZQ?=", 1)).about("Grüße"),
		mailOf("an encoded word with a question", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "=?utf-8?Q?Wirklich??=", 1)).about("Wirklich?"),
		mailOf("raw ISO-2022-JP", strings.Replace(plainMail("", "Quittenbrot"), "Angebot", "\x1b$BF|K\\\x1b(B", 1)).about("日本"),
		mailOf("two subjects", strings.Replace(plainMail("", "Quittenbrot"), "Subject:", "Subject: \r\nSubject:", 1)),
		mailOf("two types", from+"Subject: Angebot\r\nContent-Type: text/plain\r\n"+multi, restPDF),
		mailOf("two addressees", strings.Replace(plainMail("", "Quittenbrot"), "To:", "To: hagebutte@example.org\r\nTo:", 1)).saying("hagebutte", "office", "Quittenbrot"),
		mailOf("odd dates", strings.Replace(plainMail("", "Quittenbrot"), "Tue, 3 Mar 2026 10:00:00 +0100", "Dienstag, 3. März 26 um 10:00 Uhr MESZ", 1)),
		mailOf("no semicolon behind the type", strings.Replace(plainMail("Content-Type: text/html charset=iso-8859-1", "<p>Quittenbrot, M\xfcller"), "x", "x", 1)).saying("Quittenbrot", "Müller"),
		mailOf("a long header", strings.Replace(mailWith(fieldsOfA), "Subject:", strings.Repeat("X-Spam: "+strings.Repeat("x", 900)+"\r\n", 100)+"Subject:", 1), aPDF, restPDF),
		mailOf("a long field", strings.Replace(mailWith(fieldsOfA), "Subject:", "X-Spam: "+strings.Repeat("x ", 100_000)+"\r\nSubject:", 1), aPDF, restPDF),
		// jhillyerd/go.enmime#33
		mailOf("a part with a blank before the colon", mixedMail(quittePart, encodedPDF("Content-Disposition : attachment; filename=a.pdf"), schlehPart, restPart), aPDF, restPDF).saying("Quittenbrot", "Schlehenmus"),
		mailOf("a part with a vertical tab in a name", mixedMail(quittePart, encodedPDF("Content-Disposition: attachment; filename=\"a\vb.pdf\""), schlehPart, restPart), Attached{"a b.pdf", len(SmallPDF)}, restPDF).saying("Quittenbrot", "Schlehenmus"),
		mailOf("a part with a line that is no field", mixedMail(quittePart, encodedPDF(fieldsOfA+"\r\nX-Foo"), schlehPart, restPart), aPDF, restPDF).saying("Quittenbrot", "Schlehenmus"),
		mailOf("a part with such a line at the end", mixedMail(quittePart, fieldsOfA+"\r\nContent-Transfer-Encoding: base64\r\nX-Foo\r\n\r\n"+onLines(SmallPDF), schlehPart, restPart), aPDF, restPDF).saying("Quittenbrot", "Schlehenmus"),
		mailOf("a part without an empty line", mixedMail(quittePart, fieldsOfA+"\r\nContent-Transfer-Encoding: base64\r\n"+onLines(SmallPDF), schlehPart, restPart), aPDF, restPDF).saying("Quittenbrot", "Schlehenmus"),
		mailOf("a part without a header", mixedMail("Quittenbrot: frisch\r\nund Honig", restPart), restPDF).saying("Quittenbrot", "frisch", "Honig"),
		mailOf("a part with an empty line first", mixedMail("\r\n"+quittePart, "\r\n"+restPart), restPDF),
		mailOf("a part of nothing", mixedMail(quittePart, "", restPart), restPDF),
	}
}

// mailBoundaries are e-mails with odd delimiters.
func mailBoundaries() []Mail {
	head := usualFields + "Subject: Angebot\r\n"
	two := func(b string) string {
		return "--" + b + "\r\n" + quittePart + "\r\n--" + b + "\r\n" + restPart + "\r\n--" + b + "--\r\n"
	}
	typed := func(boundary string) string {
		return head + "Content-Type: multipart/mixed; boundary=" + boundary + "\r\n\r\n"
	}
	return []Mail{
		mailOf("no boundary", head+"Content-Type: multipart/mixed\r\n\r\n"+two("bb"), restPDF),
		mailOf("another boundary", typed("xx")+two("bb"), restPDF),
		mailOf("no delimiter at all", typed("bb")+"Quittenbrot\r\n"),
		mailOf("not closed", typed("bb")+strings.TrimSuffix(two("bb"), "--bb--\r\n"), restPDF),
		mailOf("blanks behind", typed("bb")+strings.ReplaceAll(two("bb"), "--bb\r\n", "--bb \t \r\n"), restPDF),
		mailOf("odd characters", typed(`"=_'()+,-./:=? x"`)+two("=_'()+,-./:=? x"), restPDF),
		mailOf("not in quotes", typed("----=_Part?1=2")+two("----=_Part?1=2"), restPDF),
		mailOf("blanks at the end", typed(`"bb "`)+two("bb"), restPDF),
		mailOf("an inner one that is longer", typed("bb")+"--bb\r\n"+multipart("alternative", "bbb", quittePart)+"--bb\r\n"+restPart+"\r\n--bb--\r\n", restPDF),
		mailOf("an inner one that is shorter", typed("bbb")+"--bbb\r\n"+multipart("alternative", "bb", quittePart)+"--bbb\r\n"+restPart+"\r\n--bbb--\r\n", restPDF),
		mailOf("an inner one that is the end", typed("bb")+"--bb\r\n"+multipart("alternative", "bb--", quittePart)+"--bb\r\n"+restPart+"\r\n--bb--\r\n", restPDF),
		mailOf("the same twice", typed("bb")+"--bb\r\n"+multipart("alternative", "bb", quittePart)+"--bb\r\n"+restPart+"\r\n--bb--\r\n", restPDF),
		mailOf("an inner one not closed", typed("bb")+"--bb\r\n"+strings.TrimSuffix(multipart("alternative", "cc", quittePart), "--cc--\r\n")+"--bb\r\n"+restPart+"\r\n--bb--\r\n", restPDF),
		mailOf("a hint in front", typed("bb")+"This is a multi-part message in MIME format.\r\n"+two("bb"), restPDF),
		mailOf("other boundaries in front", typed("bb")+"--cc\r\nContent-Type: text/plain\r\n\r\nnicht\r\n--cc--\r\n"+two("bb"), restPDF),
		mailOf("text behind the end", typed("bb")+two("bb")+"Geprüft von Hagebutte\r\n", restPDF).saying("Quittenbrot", "Hagebutte"),
		mailOf("parts behind the end", typed("bb")+two("bb")+two("bb"), restPDF, restPDF),
		mailOf("text in front of attachments", typed("bb")+"Quittenbrot\r\n--bb\r\n"+restPart+"\r\n--bb--\r\n", restPDF),
		mailOf("an end with something behind", typed("bb")+strings.ReplaceAll(two("bb"), "--bb--\r\n", "--bb--Ende\r\n"), restPDF),
		mailOf("no line end before the first", typed("bb")[:len(typed("bb"))-2]+two("bb"), restPDF),
		mailOf("nothing behind the last header", typed("bb")+"--bb\r\n"+quittePart+"\r\n--bb\r\n"+fieldsOfRest, Attached{"rest.pdf", 0}),
	}
}

// mailEncodings are e-mails with odd transfer encodings.
func mailEncodings() []Mail {
	coded := func(encoding, content string) string {
		return mixedMail(quittePart, fieldsOfA+"\r\nContent-Transfer-Encoding: "+encoding+"\r\n\r\n"+content, restPart)
	}
	quoted := func(s string) string {
		return plainMail("Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable", s)
	}
	lines := onLines(SmallPDF + SmallPDF)
	return []Mail{
		mailOf("base64 in capitals with a comment", coded("BASE64;", lines), Attached{"a.pdf", 2 * len(SmallPDF)}, restPDF),
		mailOf("base64 that claims to be 8bit", coded("8bit", lines), Attached{"a.pdf", 2 * len(SmallPDF)}, restPDF),
		mailOf("base64 that claims nothing", coded("", lines), Attached{"a.pdf", 2 * len(SmallPDF)}, restPDF),
		mailOf("an encoding that is none", coded("x-none", "abc"), Attached{"a.pdf", 3}, restPDF),
		mailOf("base64 with junk", coded("base64", "!"+strings.ReplaceAll(lines, "J", "J*\x00")), Attached{"a.pdf", 2 * len(SmallPDF)}, restPDF),
		mailOf("base64 with empty lines", coded("base64", strings.ReplaceAll(lines, "\r\n", "\r\n\r\n ")), Attached{"a.pdf", 2 * len(SmallPDF)}, restPDF),
		mailOf("base64 on one line", coded("base64", strings.ReplaceAll(onLines(strings.Repeat(SmallPDF, 3000)), "\r\n", "")), Attached{"a.pdf", 3000 * len(SmallPDF)}, restPDF),
		mailOf("base64 without padding", coded("base64", strings.TrimRight(onLines(SmallPDF+"x"), "=")), Attached{"a.pdf", len(SmallPDF) + 1}, restPDF),
		mailOf("base64 padded in between", coded("base64", onLines(SmallPDF+"x")+"\r\n"+onLines(SmallPDF)), Attached{"a.pdf", 2*len(SmallPDF) + 1}, restPDF),
		mailOf("base64 padded in a line", coded("base64", "eA==eA=="), Attached{"a.pdf", 2}, restPDF),
		mailOf("base64 with a footer", coded("base64", onLines(SmallPDF+"x")+"\r\n-- \r\nVon der Liste: bitte lesen\r\n"), Attached{"a.pdf", len(SmallPDF) + 1}, restPDF),
		mailOf("base64 cut off", coded("base64", lines[:103]), Attached{"a.pdf", 75}, restPDF).damaged(0),
		mailOf("an e-mail cut off in base64", cutIn(coded("base64", lines), lines[:100]), Attached{"a.pdf", 73}).damaged(0),
		mailOf("an e-mail cut off behind base64", cutIn(coded("base64", onLines(SmallPDF+"x")), onLines(SmallPDF+"x")), Attached{"a.pdf", len(SmallPDF) + 1}),
		mailOf("an e-mail cut off in bytes", cutIn(coded("8bit", "eins, zwei"), "eins"), Attached{"a.pdf", 4}).damaged(0),
		mailOf("an e-mail cut off in quoted-printable", cutIn(coded("quoted-printable", "eins=20zwei"), "eins=20"), Attached{"a.pdf", 5}).damaged(0),
		mailOf("an e-mail cut off in uuencode", cutIn(coded("x-uuencode", uuencoded("b.pdf", SmallPDF)), "\r\n,"), Attached{"a.pdf", 45}).damaged(0),
		mailOf("an e-mail cut off behind a line of uuencode", cutIn(plainMail("", "Quittenbrot\r\n"+uuencoded("b.pdf", SmallPDF)+uuencoded("c.pdf", SmallPDF)), "c.pdf\r\n", 63), Attached{"b.pdf", len(SmallPDF)}, Attached{"c.pdf", 45}).damaged(1),
		mailOf("base64 of nothing", coded("base64", ""), Attached{"a.pdf", 0}, restPDF),
		mailOf("words that claim to be base64", plainMail("Content-Transfer-Encoding: base64", "Guten Tag, Frau Müller! Quittenbrot anbei.\r\n")),
		mailOf("words in base64 that claim to be 7bit", plainMail("Content-Transfer-Encoding: 7bit", onLines("Guten Tag, Frau Müller!\r\nQuittenbrot anbei.\r\n"))),
		// jordan-wright/email#29, golang/go#22597, emersion/go-message#199
		mailOf("quoted-printable with control characters", quoted("eins\vzwei\fdrei\x1bvier\x00\x7f\r\nQuittenbrot\r\n")),
		mailOf("quoted-printable with raw bytes", quoted("M\xfcller\r\nQuittenbrot\r\n")).saying("Müller", "Quittenbrot"),
		mailOf("quoted-printable in small letters", quoted("M=c3=bcller Quittenbrot")).saying("Müller", "Quittenbrot"),
		mailOf("quoted-printable with CRCRLF", quoted("Quitten=\r\r\nbrot")),
		mailOf("quoted-printable with blanks behind", quoted("Quitten= \t\r\nbrot   \r\nHonig")).saying("Quittenbrot", "Honig"),
		mailOf("quoted-printable with a break at the end", quoted("Quittenbrot=")),
		mailOf("quoted-printable with junk", quoted("a=G1 b== c=\xff Quittenbrot =3")),
		mailOf("quoted-printable of one long line", plainMail("Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable",
			"<p>"+strings.Repeat("a b ", 50_000)+"</p><p>Quittenbrot</p>")),
		mailOf("words that claim to be quoted-printable", quoted("Quittenbrot 1+1=2 https://example.org/?q=zz")).saying("Quittenbrot", "1+1=2", "q=zz"),
		mailOf("an attachment in quoted-printable", coded("quoted-printable", "eins\vzwei\r\ndrei=\r\n"), Attached{"a.pdf", 15}, restPDF),
		mailOf("uuencode as an encoding", coded("x-uuencode", uuencoded("b.pdf", SmallPDF)), aPDF, restPDF),
		mailOf("uuencode in a text", plainMail("", "Guten Tag\r\n\r\n"+uuencoded("b c.pdf", SmallPDF+SmallPDF)+"Quittenbrot\r\n"), Attached{"b c.pdf", 2 * len(SmallPDF)}),
		mailOf("two in uuencode", plainMail("", uuencoded("b.pdf", SmallPDF)+uuencoded("c.pdf", "x")+"Quittenbrot\r\n"), Attached{"b.pdf", len(SmallPDF)}, Attached{"c.pdf", 1}),
		mailOf("uuencode without its end", plainMail("", strings.TrimSuffix(uuencoded("b.pdf", SmallPDF), "`\r\nend\r\n")+"\r\nQuittenbrot\r\n"), Attached{"b.pdf", len(SmallPDF)}),
		mailOf("words that begin as uuencode", plainMail("", "begin 644 Quittenbrot\r\nund so weiter, und so fort\r\n")),
		mailOf("yEnc is text", plainMail("", "=ybegin line=128 size=3 name=x\r\nQuittenbrot\r\n=yend size=3\r\n")),
	}
}

// cutIn ends an e-mail so many bytes behind a part of it.
func cutIn(mail, part string, more ...int) string {
	return mail[:strings.Index(mail, part)+len(part)+append(more, 0)[0]]
}

// uuencoded encodes a file in uuencode.
func uuencoded(name, content string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "begin 644 %s\r\n", name)
	digit := func(n byte) byte {
		if n &= 63; n > 0 {
			return n + ' '
		}
		return '`'
	}
	for content != "" {
		line := content[:min(45, len(content))]
		content = content[len(line):]
		b.WriteByte(digit(byte(len(line)))) //nolint:gosec // at most 45
		for line += "\x00\x00"; len(line) > 2; line = line[3:] {
			b.Write([]byte{digit(line[0] >> 2), digit(line[0]<<4 | line[1]>>4), digit(line[1]<<2 | line[2]>>6), digit(line[2])})
		}
		b.WriteString("\r\n")
	}
	return b.String() + "`\r\nend\r\n"
}

// mailStructures are e-mails with unusual parts.
func mailStructures() []Mail {
	inner := "Content-Type: message/rfc822\r\n"
	eml := Attached{"Innen.eml", len(innerMail)}
	forwarded := usualFields + "Subject: Weitergeleitet\r\n" + multipart("mixed", "ii", quittePart, restPart)
	related := multipart("related", "rr", htmlPart+"<img src=\"cid:logo@1\">", "Content-Type: image/png; name=logo.png\r\nContent-ID: <logo@1>\r\n\r\nPNG", encodedPDF("Content-Type: application/pdf; name=a.pdf\r\nContent-ID: <a@1>"))
	report := multipart("report", "bb", quittePart, "Content-Type: message/delivery-status\r\n\r\nAction: failed\r\nDiagnostic-Code: smtp; Hagebutte", inner+"\r\n"+innerMail)
	return []Mail{
		mailOf("an e-mail in it", mixedMail(quittePart, inner+"\r\n"+innerMail, restPart), eml, restPDF),
		mailOf("an e-mail in base64", mixedMail(quittePart, inner+"Content-Transfer-Encoding: base64\r\n\r\n"+onLines(innerMail), restPart), eml, restPDF),
		mailOf("an e-mail behind a line of an mbox", mixedMail(quittePart, inner+"\r\nFrom x@example.org Tue Mar  3\r\n"+innerMail, restPart), Attached{"Innen.eml", len(innerMail) + 31}, restPDF),
		mailOf("an e-mail with attachments", mixedMail(quittePart, inner+"\r\n"+forwarded, restPart), Attached{"Weitergeleitet.eml", len(forwarded)}, restPDF),
		mailOf("an e-mail with a name", mixedMail(quittePart, inner+"Content-Disposition: attachment; filename=Alt.eml\r\n\r\n"+innerMail), Attached{"Alt.eml", len(innerMail)}),
		mailOf("an e-mail with a name without an extension", mixedMail(quittePart, inner+"Content-Disposition: attachment; filename=\"Part 1.2\"\r\n\r\n"+innerMail), eml),
		mailOf("an e-mail with nothing", mixedMail(quittePart, inner+"\r\nx", restPart), Attached{"", 1}, restPDF),
		mailOf("a digest", usualFields+"Subject: Angebot\r\n"+multipart("digest", "bb", "\r\n"+innerMail, "\r\n"+innerMail), eml, eml).saying(),
		mailOf("a report", usualFields+"Subject: Angebot\r\n"+report, eml).saying("Quittenbrot", "Hagebutte"),
		mailOf("alternatives", usualFields+"Subject: Angebot\r\n"+multipart("alternative", "bb", schlehPart, htmlPart)).saying("Schlehenmus", "QZ-4711", "Quittenbrot"),
		// astroidmail/astroid#677
		mailOf("a plain text that only excuses itself", usualFields+"Subject: Angebot\r\n"+multipart("alternative", "bb", "\r\nIhr Programm kann kein HTML anzeigen.", htmlPart)).saying("QZ-4711", "Quittenbrot"),
		mailOf("an attachment in the alternatives", usualFields+"Subject: Angebot\r\n"+multipart("alternative", "bb", quittePart, multipart("mixed", "cc", htmlPart, encodedPDF(fieldsOfA))), aPDF).saying("Quittenbrot", "QZ-4711"),
		mailOf("pictures that are shown, and a file with an id", mixedMail(related), aPDF).saying("QZ-4711", "Quittenbrot"),
		mailOf("signed", mixedMail(multipart("signed", "ss", quittePart, "Content-Type: application/pkcs7-signature; name=smime.p7s\r\n\r\nx"), restPart), restPDF),
		mailOf("a file of a Mac", mixedMail(quittePart, multipart("appledouble", "aa", "Content-Type: application/applefile; name=a.pdf\r\n\r\nfork", encodedPDF(fieldsOfA)), restPart), aPDF, restPDF),
		mailOf("a file of a Mac without a name", mixedMail(quittePart, strings.Replace(multipart("appledouble", "aa", "Content-Type: application/applefile\r\n\r\nfork", encodedPDF("Content-Type: application/pdf")),
			"double;", "double; name=a.pdf;", 1), restPart), aPDF, restPDF),
		// paperless-ngx/paperless-ngx#865, jonaswinkler/paperless-ng#70
		mailOf("a file in line", mailWith("Content-Disposition: inline;\r\n\tfilename=a.pdf\r\nContent-Type: application/pdf;\r\n\tx-unix-mode=0644;\r\n\tname=\"a.pdf\""), aPDF, restPDF),
		// paperless-ngx/paperless-ngx#11242
		mailOf("a file of no type", mailWith("Content-Type: application/octet-stream; name=\"a.pdf\"\r\nContent-Disposition: attachment"), aPDF, restPDF),
		// jonaswinkler/paperless-ng#1088
		mailOf("a file without a disposition", mailWith("Content-Type: application/octet-stream; name=2021-06-24_Einladung_MV.pdf"), Attached{"2021-06-24_Einladung_MV.pdf", len(SmallPDF)}, restPDF),
		// eikek/docspell#1950
		mailOf("a picture in line and a file", mixedMail(quittePart, "Content-Type: image/jpeg\r\nContent-Disposition: inline; filename=Foto.jpg\r\n\r\nJPEG", restPart), Attached{"Foto.jpg", 4}, restPDF),
		// eikek/docspell#1140
		mailOf("an end that touches base64", strings.Replace(mailWith(fieldsOfA), "\r\n--bb--", "\r\n\r\n=\r\n--bb--", 1), aPDF, restPDF),
		mailOf("a file alone", usualFields+"Subject: Angebot\r\n"+encodedPDF(fieldsOfA), aPDF).saying(),
		mailOf("a type that is none", plainMail("Content-Type: ;;=", "Quittenbrot")),
		mailOf("format=flowed", plainMail("Content-Type: text/plain; format=flowed; delsp=yes", "Quitten \r\nbrot\r\n>> Honig\r\n  Einzug\r\n-- \r\nErika")).saying("Quittenbrot", ">> Honig", "-- \nErika"),
		mailOf("a calendar", usualFields+"Subject: Angebot\r\n"+multipart("alternative", "bb", quittePart, "Content-Type: text/calendar; method=REQUEST\r\n\r\nBEGIN:VCALENDAR"), Attached{"", 15}),
		mailOf("an HTML of a watch", usualFields+"Subject: Angebot\r\n"+multipart("alternative", "bb", quittePart, "Content-Type: text/x-amp-html\r\n\r\n<p>Hagebutte", htmlPart)).saying("Quittenbrot", "Hagebutte", "QZ-4711"),
	}
}

// mailCharsets are e-mails with odd character sets.
func mailCharsets() []Mail {
	in := func(charset, s string) string { return plainMail("Content-Type: text/plain; charset="+charset, s) }
	wide := func(s string) string {
		var b bytes.Buffer
		_ = binary.Write(&b, binary.BigEndian, utf16.Encode([]rune(s)))
		return b.String()
	}
	german := []string{"Müller", "Quittenbrot"}
	japanese := "\x1b$BF|K\\\x1b(B Quittenbrot"
	return []Mail{
		mailOf("no character set", plainMail("", "M\xfcller Quittenbrot")).saying(german...),
		mailOf("UTF-8 that is Windows-1252", in("utf-8", "M\xfcller \x80 Quittenbrot")).saying(german...),
		mailOf("Windows-1252 that is UTF-8", in("windows-1252", "Müller Quittenbrot")).saying(german...),
		mailOf("UTF-8 with one wrong byte", in("utf-8", "Müller und Söhne, Bäcker \xfc Quittenbrot")).saying("Müller und Söhne, Bäcker", "Quittenbrot"),
		mailOf("a character set of no name", in("x-unknown", "M\xfcller Quittenbrot")).saying(german...),
		mailOf("a character set in quotes of its own", in(`"'utf-8'"`, "Müller Quittenbrot")).saying(german...),
		mailOf("UTF-7", in("utf-7", "M+APw-ller +- Quittenbrot")).saying("Müller", "+", "Quittenbrot"),
		mailOf("UTF-7 with raw bytes", in("utf-7", "M\xfcller +AEE- Quittenbrot")).saying("Müller", "A", "Quittenbrot"),
		mailOf("ISO-2022-JP", in("iso-2022-jp", japanese)).saying("日本", "Quittenbrot"),
		mailOf("ISO-2022-JP without saying so", plainMail("", japanese)).saying("日本", "Quittenbrot"),
		mailOf("GB18030", in("gb18030", "\xd6\xd0\xce\xc4 \x81\x30\x84\x36 Quittenbrot")).saying("中文", "Quittenbrot"),
		mailOf("HZ", in("hz-gb-2312", "~{VPND~} Quittenbrot")).saying("中文", "Quittenbrot"),
		mailOf("KOI8-R", in("koi8-r", "\xed\xcf\xd3\xcb\xd7\xc1 Quittenbrot")).saying("Москва", "Quittenbrot"),
		mailOf("a code page of DOS", in("ibm850", "M\x81ller Quittenbrot")).saying(german...),
		mailOf("UTF-16", in("utf-16be\r\nContent-Transfer-Encoding: base64", onLines(wide("Müller Quittenbrot")))).saying(german...),
		mailOf("HTML that says it itself", plainMail("Content-Type: text/html", "<html><head><meta charset=\"koi8-r\"></head><body>\xed\xcf\xd3\xcb\xd7\xc1 Quittenbrot")).saying("Москва", "Quittenbrot"),
	}
}

// mailNames are e-mails with attachments of odd names.
func mailNames() []Mail {
	one := func(title, given, want string) Mail {
		return mailOf("a name: "+title, mailWith("Content-Type: application/pdf\r\nContent-Disposition: attachment; "+given), Attached{want, len(SmallPDF)}, restPDF)
	}
	about := func(title, subject, want string) Mail {
		content := strings.Replace(innerMail, "Innen", subject, 1)
		return mailOf("a subject: "+title, mixedMail(quittePart, "Content-Type: message/rfc822\r\n\r\n"+content, restPart), Attached{want, len(content)}, restPDF)
	}
	long := strings.Repeat("ä", 200)
	return []Mail{
		one("a slash", `filename="Rechnung 2026/0815.pdf"`, "Rechnung 2026/0815.pdf"),
		one("a backslash", `filename="a\b.pdf"`, `a\b.pdf`),
		one("a path of Windows", `filename="C:\Users\x\y.pdf"`, "y.pdf"),
		one("an escaped path of Windows", `filename="C:\\Users\\x\\y.pdf"`, "y.pdf"),
		one("a path of Unix", `filename="/home/x/y.pdf"`, "y.pdf"),
		one("a way out", `filename="../../etc/passwd"`, "passwd"),
		one("two dots", `filename=".."`, ""),
		one("a NUL", "filename=\"a\x00b.pdf\"", "a b.pdf"),
		one("a line end", `filename="=?utf-8?Q?a=0Ab.pdf?="`, "a b.pdf"),
		one("dots at the end", `filename="Rechnung... "`, "Rechnung"),
		one("long", `filename*=utf-8''`+strings.ReplaceAll(long, "ä", "%C3%A4")+".pdf", strings.Repeat("ä", 125)+".pdf"),
		one("marks of direction", `filename*=utf-8''a%E2%80%AEfdp.exe`, "afdp.exe"),
		one("quotes in it", `filename="Das "Angebot" 1.pdf"`, `Das "Angebot" 1.pdf`),
		one("escaped quotes in it", `filename="Das \"Angebot\".pdf"`, `Das "Angebot".pdf`),
		one("no quotes", `filename=Angebot Nr 1.pdf; size=7`, "Angebot Nr 1.pdf"),
		one("a semicolon and no quotes", `filename=a;b.pdf`, "a;b.pdf"),
		one("a semicolon in quotes", `filename="a;b.pdf"; size=7`, "a;b.pdf"),
		one("no closing quote", `filename="a.pdf`, "a.pdf"),
		one("raw UTF-8", `filename="Grün.pdf"`, "Grün.pdf"),
		one("raw Windows-1252", "filename=\"Gr\xfcn.pdf\"", "Grün.pdf"),
		one("continued", "filename*0=\"Ang\";\r\n filename*1=\"ebot.pdf\"", "Angebot.pdf"),
		one("continued and encoded", `filename*0*=iso-8859-1'de'Gr%FC; filename*1="n 100%.pdf"`, "Grün 100%.pdf"),
		one("continued in disorder", `filename*1="b.pdf"; filename*0="a"`, "ab.pdf"),
		one("encoded words in parts", `filename*0="=?utf-8?Q?Gr=C3"; filename*1="=BCn.pdf?="`, "Grün.pdf"),
		one("both ways", `filename="Gr?n.pdf"; filename*=utf-8''Gr%C3%BCn.pdf`, "Grün.pdf"),
		one("a wrong percent", `filename*=utf-8''100%.pdf`, "100%.pdf"),
		one("no character set", `filename*=Gr%C3%BCn.pdf`, "Grün.pdf"),
		one("the wrong field", `name="a.pdf"`, "a.pdf"),
		// lettre/lettre#626
		mailOf("a name: encoded with its parameter", mailWith("Content-Type: application/pdf\r\nContent-Disposition: attachment; =?utf-8?b?ZmlsZW5hbWU9IlTDtnN0?=.pdf\""), Attached{"Töst.pdf", len(SmallPDF)}, restPDF),
		mailOf("a name: only of the type", mailWith("Content-Type: application/pdf; name=\"=?utf-8?B?R3LDvG4ucGRm?=\""), Attached{"Grün.pdf", len(SmallPDF)}, restPDF),
		mailOf("a name: no disposition", mailWith("Content-Type: application/pdf\r\nContent-Disposition: filename=a.pdf"), aPDF, restPDF),
		mailOf("a name: twice", mixedMail(quittePart, encodedPDF(fieldsOfA), encodedPDF(fieldsOfA)), aPDF, aPDF),
		mailOf("a name: none", mailWith("Content-Type: application/pdf"), Attached{"", len(SmallPDF)}, restPDF),
		// tutao/tutanota#2160
		about("a slash", "Rechnung 2026/0815", "Rechnung 2026/0815.eml"),
		about("a backslash", `AW: a/b\c`, `AW: a/b\c.eml`),
		about("a line end", "=?utf-8?Q?a=0Ab?=", "a b.eml"),
		about("long", strings.Repeat("B", 400), strings.Repeat("B", 251)+".eml"),
		about("dots", "Mahnung...", "Mahnung.eml"),
		about("none", "", ""),
	}
}

// mailHidden are e-mails with a winmail.dat.
func mailHidden() []Mail {
	held := func(type_ string, content []byte) string {
		return mixedMail(schlehPart, "Content-Type: "+type_+"\r\nContent-Transfer-Encoding: base64\r\n\r\n"+onLines(string(content)), restPart)
	}
	tnef := "application/ms-tnef; name=\"winmail.dat\""
	body := attribute(1, 0x2800c, "Quittenbrot\x00")
	pdfIn := func(title, long string) string {
		properties := propertyList(wideProperty(0x3707, long), wideProperty(0x370e, "application/pdf"))
		return attribute(2, 0x69002, strings.Repeat("\x00", 14)) + attribute(2, 0x18010, title+"\x00") + attribute(2, 0x6800f, SmallPDF) + attribute(2, 0x69005, properties)
	}
	nested := propertyList(objectProperty(0x3701, strings.Repeat("i", 16)+string(winmail(attribute(1, 0x2800c, "Hagebutte\x00"), pdfIn("B.PDF", "innen.pdf")))))
	whole := winmail(body, pdfIn("A.PDF", "Angebot grün.pdf"))
	green := Attached{"Angebot grün.pdf", len(SmallPDF)}
	return []Mail{
		mailOf("winmail.dat", held(tnef, whole), green, restPDF).saying("Schlehenmus", "Quittenbrot"),
		mailOf("winmail.dat of no type", held("application/octet-stream; name=WINMAIL.DAT", whole), green, restPDF).saying("Schlehenmus", "Quittenbrot"),
		mailOf("winmail.dat with two", held(tnef, winmail(body, pdfIn("A.PDF", "a.pdf"), pdfIn("B.PDF", "b.pdf"))), aPDF, Attached{"b.pdf", len(SmallPDF)}, restPDF).saying("Schlehenmus", "Quittenbrot"),
		mailOf("winmail.dat with a short name", held(tnef, winmail(attribute(2, 0x69002, ""), attribute(2, 0x18010, "Gr\xfcn.pdf\x00"), attribute(2, 0x6800f, SmallPDF))), Attached{"Grün.pdf", len(SmallPDF)}, restPDF).saying("Schlehenmus"),
		// verdammelt/tnef#38
		mailOf("winmail.dat with HTML alone", held(tnef, winmail(attribute(1, 0x69003, propertyList(binaryProperty(0x1013, "<p>Quittenbrot</p>"))))), restPDF).saying("Schlehenmus", "Quittenbrot"),
		mailOf("winmail.dat with an e-mail", held(tnef, winmail(body, attribute(2, 0x69002, ""), attribute(2, 0x69005, nested))), Attached{"innen.pdf", len(SmallPDF)}, restPDF).saying("Schlehenmus", "Quittenbrot", "Hagebutte"),
		mailOf("winmail.dat with named properties", held(tnef, winmail(attribute(1, 0x69003, propertyList(namedProperty(), wideProperty(0x1000, "Quittenbrot"))))), restPDF).saying("Schlehenmus", "Quittenbrot"),
		mailOf("winmail.dat that is cut off", held(tnef, whole[:bytes.Index(whole, []byte("trailer"))]), Attached{"A.PDF", strings.Index(SmallPDF, "trailer")}, restPDF).saying("Schlehenmus", "Quittenbrot").damaged(0),
		mailOf("winmail.dat that is none", held(tnef, []byte("no such thing")), Attached{"winmail.dat", 13}, restPDF).saying("Schlehenmus"),
	}
}

// winmail makes a winmail.dat of attributes (MS-OXTNEF).
func winmail(attributes ...string) []byte {
	return []byte("\x78\x9f\x3e\x22\x01\x00" + strings.Join(attributes, ""))
}

// attribute makes an attribute of the message (level 1) or of an attachment (level 2).
func attribute(level byte, id uint32, content string) string {
	sum := uint16(0)
	for _, c := range []byte(content) {
		sum += uint16(c)
	}
	return string(level) + littleEndian(id) + littleEndian(len(content)) + content + string(binary.LittleEndian.AppendUint16(nil, sum))
}

func littleEndian[N int | uint32](n N) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

// propertyList makes a list of properties.
func propertyList(list ...string) string {
	return littleEndian(len(list)) + strings.Join(list, "")
}

func propertyOf(kind, id uint32, content string) string {
	return littleEndian(id<<16|kind) + littleEndian(1) + littleEndian(len(content)) + content + strings.Repeat("\x00", -len(content)&3)
}

// wideProperty makes a property in UTF-16, binaryProperty one of bytes.
func wideProperty(id uint32, s string) string {
	var content []byte
	for _, c := range utf16.Encode([]rune(s + "\x00")) {
		content = binary.LittleEndian.AppendUint16(content, c)
	}
	return propertyOf(0x1f, id, string(content))
}

func binaryProperty(id uint32, s string) string { return propertyOf(0x102, id, s) }

func objectProperty(id uint32, s string) string { return propertyOf(0x0d, id, s) }

// namedProperty makes properties of all widths that nobody asks for, with names.
func namedProperty() string {
	guid := strings.Repeat("g", 16)
	return littleEndian(0x80010003) + guid + littleEndian(1) + littleEndian(6) + "a\x00b\x00\x00\x00\x00\x00" + littleEndian(7)
}
