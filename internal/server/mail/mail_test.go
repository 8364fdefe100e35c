package mail_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"

	"github.com/archivefs/archivefs/internal/server/mail"
	"github.com/archivefs/archivefs/internal/testing/odd"
)

// letter is an e-mail of one part with these lines of header.
func letter(header, body string) string {
	return "From: Eve <eve@example.org>\r\nSubject: Offer\r\n" + header + "\r\n\r\n" + body
}

// parts joins parts, each a header and a body with an empty line between them.
func parts(kind, boundary string, list ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Content-Type: multipart/%s; boundary=%q\r\n\r\n", kind, boundary)
	for _, p := range list {
		fmt.Fprintf(&b, "--%s\r\n%s\r\n", boundary, p)
	}
	fmt.Fprintf(&b, "--%s--\r\n", boundary)
	return b.String()
}

// mixed is an e-mail of several parts.
func mixed(list ...string) string {
	return "From: Eve <eve@example.org>\r\nSubject: Offer\r\n" + parts("mixed", "M", list...)
}

const (
	plain = "Content-Type: text/plain\r\n\r\nHello"
	rich  = "Content-Type: text/html; charset=utf-8\r\n\r\n<p>Hello, <b>Adam</b> <img src=\"cid:logo@1\"></p>"
)

// attachment makes a part of a content, in base64.
func attachment(header, content string) string {
	return header + "\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString([]byte(content))
}

func TestRead(t *testing.T) {
	nested := "Content-Type: message/rfc822\r\n\r\nSubject: Offer\r\n" + parts("mixed", "N", plain, attachment("Content-Disposition: attachment; filename=deep.txt", "deep"))
	for name, test := range map[string]struct {
		mail, text  string
		attachments []string // name, type and content
	}{
		"plain":             {letter("X: y", "Hello\r\nAdam"), "Hello\nAdam", nil},
		"Latin":             {letter("Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable", "Gr=FC=DFe=\r\n!"), "Grüße!", nil},
		"HTML alone":        {letter("Content-Type: text/html", "<p>Hello<br>Adam"), "Hello\nAdam\n", nil},
		"alternatives":      {mixed(parts("alternative", "A", plain, rich)), "Hello\nHello, Adam\n", nil},
		"HTML first":        {mixed(parts("alternative", "A", rich, plain)), "Hello\nHello, Adam\n", nil},
		"HTML says no more": {mixed(parts("alternative", "A", "\r\nHello, Adam!", rich)), "Hello, Adam!", nil},
		"empty and HTML":    {mixed(parts("alternative", "A", "Content-Type: text/plain\r\n\r\n ", rich)), "Hello, Adam\n", nil},
		"two texts":         {mixed(plain, plain), "Hello\nHello", nil},
		"a text with a name": {
			mixed(plain, "Content-Type: text/plain; name=\"a.txt\"\r\n\r\nfile"), "Hello", []string{"a.txt text/plain file"},
		},
		"pictures that are shown": {
			mixed(parts("related", "R", rich, "Content-Type: image/png; name=a.png\r\nContent-ID: <logo@1>\r\n\r\nshown",
				"Content-Type: image/png; name=b.png\r\nContent-ID: <other>\r\n\r\nnot shown")), "Hello, Adam\n", []string{"b.png image/png not shown"},
		},
		"a picture in line": {
			mixed(plain, "Content-Type: image/png\r\nContent-Disposition: inline; filename=a.png\r\n\r\nPNG"), "Hello", []string{"a.png image/png PNG"},
		},
		"an attachment with an id": {
			mixed(rich, "Content-Type: image/png\r\nContent-Disposition: attachment; filename=a.png\r\nContent-ID: <logo@1>\r\n\r\nPNG"),
			"Hello, Adam\n",
			[]string{"a.png image/png PNG"},
		},
		"no name": {mixed(plain, attachment("Content-Type: application/pdf", "%PDF")), "Hello", []string{" application/pdf %PDF"}},
		"names": {
			mixed(attachment("Content-Disposition: attachment; filename*=UTF-8''Gr%C3%BC%C3%9Fe.txt", "1"),
				attachment("Content-Disposition: attachment; filename*0*=iso-8859-1''Gr%FC; filename*1=\"n.txt\"", "2"),
				attachment("Content-Type: application/x; name=\"=?utf-8?B?R3LDvG4=?= =?iso-8859-1?Q?_=FC?=\"", "3"),
				attachment("Content-Disposition: attachment; filename=no quotes here.txt", "4"),
				attachment("Content-Disposition: attachment; filename=\"Gr\xfcn.txt\"", "5"),
				attachment("Content-Disposition: attachment; filename=\"Grün.txt\"", "6")), "",
			[]string{"Grüße.txt text/plain 1", "Grün.txt text/plain 2", "Grün ü application/x 3", "no quotes here.txt text/plain 4", "Grün.txt text/plain 5", "Grün.txt text/plain 6"},
		},
		"an e-mail in it":            {mixed(plain, nested), "Hello", []string{"Offer.eml message/rfc822 " + nested[strings.Index(nested, "Subject"):]}},
		"an e-mail without anything": {mixed(plain, "Content-Type: message/rfc822\r\n\r\nx"), "Hello", []string{" message/rfc822 x"}},
		"an empty winmail.dat":       {mixed(plain, attachment("Content-Type: application/ms-tnef; name=winmail.dat", "\x78\x9f\x3e\x22")), "Hello", []string{"winmail.dat application/ms-tnef \x78\x9f\x3e\x22"}},
		"signed": {
			mixed(parts("signed", "S", plain, attachment("Content-Type: application/pkcs7-signature; name=smime.p7s\r\nContent-Disposition: attachment", "x"))),
			"Hello", nil,
		},
		"signed with PGP": {mixed(parts("signed", "S", plain, "Content-Type: application/pgp-signature; name=signature.asc\r\n\r\nx")), "Hello", nil},
		"encrypted with PGP": {
			letter(strings.TrimSuffix(parts("encrypted", "E", "Content-Type: application/pgp-encrypted\r\n\r\nVersion: 1", "Content-Type: application/octet-stream; name=encrypted.asc\r\n\r\nx"), "\r\n"), ""), "", nil,
		},
		"encrypted with S/MIME": {letter("Content-Type: application/pkcs7-mime; name=smime.p7m\r\nContent-Disposition: attachment", "x"), "", nil},
		"a calendar": {
			mixed(parts("alternative", "A", plain, rich, "Content-Type: text/calendar; method=REQUEST\r\n\r\nBEGIN:VCALENDAR")), "Hello\nHello, Adam\n", []string{" text/calendar BEGIN:VCALENDAR"},
		},
		"a report": {
			mixed(parts("report", "A", plain, "Content-Type: message/delivery-status\r\n\r\nStatus: 5", "Content-Type: text/rfc822-headers\r\n\r\nSubject: x")), "Hello\nStatus: 5\nSubject: x", nil,
		},
		"a scan":             {letter("Content-Type: application/pdf; name=scan.pdf", "%PDF"), "", []string{"scan.pdf application/pdf %PDF"}},
		"no boundary":        {letter("Content-Type: multipart/mixed", "Hello"), "Hello", nil},
		"no end":             {strings.TrimSuffix(mixed(plain, attachment("Content-Type: a/b", "x")), "--M--\r\n"), "Hello", []string{" a/b x"}},
		"line ends of Unix":  {strings.ReplaceAll(mixed(plain, attachment("Content-Type: a/b", "x")), "\r\n", "\n"), "Hello", []string{" a/b x"}},
		"a broken type":      {letter("Content-Type: ;;=", "Hello"), "Hello", nil},
		"base64 with errors": {mixed("Content-Type: a/b\r\nContent-Transfer-Encoding: BASE64\r\n\r\n e-G* 14\r\n"), "", []string{" a/b xmx"}},
		"another encoding":   {mixed("Content-Type: a/b\r\nContent-Transfer-Encoding: x-uuencode\r\n\r\nbegin 644 x"), "", []string{" a/b begin 644 x"}},
		"a long line":        {letter("Content-Transfer-Encoding: quoted-printable", strings.Repeat("x", 10_000)), strings.Repeat("x", 10_000), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got, names []string
			message, err := mail.Read(strings.NewReader(test.mail), func(a mail.Attachment, r io.Reader) error {
				content, err := io.ReadAll(r)
				names = append(names, a.Name)
				got = append(got, a.Name+" "+a.ContentType+" "+strings.TrimSuffix(string(content), "\r\n"))
				return err
			})
			if err != nil || message.Text != test.text {
				t.Errorf("it says %q, %v; want %q", message.Text, err, test.text)
			}
			for i := range test.attachments {
				test.attachments[i] = strings.TrimSuffix(test.attachments[i], "\r\n")
			}
			if !slices.Equal(got, test.attachments) {
				t.Errorf("attached %q, want %q", got, test.attachments)
			}
			alone, err := mail.Read(strings.NewReader(test.mail), nil)
			if err != nil || alone.Text != message.Text || !slices.Equal(alone.Attachments, names) {
				t.Errorf("without taking attachments %+v, %v", alone, err)
			}
		})
	}
}

func TestString(t *testing.T) {
	m, err := mail.Read(strings.NewReader("From: =?iso-8859-1?Q?J=FCrgen?= <j@example.org>\r\nTo: a@example.org\r\nBcc: x\r\nDate: Mon, 20 Nov 2023 10:00:00 +0100\r\nSubject: =?utf-8?B?R3LDvMOfZQ==?=\r\n"+
		parts("mixed", "M", plain, attachment("Content-Type: a/b; name=x.pdf", "1"), attachment("Content-Type: a/b", "2"))), nil)
	want := "From: Jürgen <j@example.org>\nTo: a@example.org\nDate: Mon, 20 Nov 2023 10:00:00 +0100\nSubject: Grüße\nAttachment: x.pdf\nAttachment: (without a name)\n\nHello"
	if got := m.String(); err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReadIsBounded(t *testing.T) {
	deep := plain
	for i := range 25 {
		deep = parts("mixed", fmt.Sprint("B", i), deep)
	}
	many := slices.Repeat([]string{attachment("Content-Type: a/b", "x")}, mail.MaxAttachments+1)
	for name, content := range map[string]string{
		"deep": mixed(deep), "attachments": mixed(many...), "parts": mixed(slices.Repeat([]string{plain}, 6000)...),
	} {
		if _, err := mail.Read(strings.NewReader(content), nil); !errors.Is(err, mail.ErrTooMuch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m, err := mail.Read(strings.NewReader(mixed(slices.Repeat([]string{"\r\n" + strings.Repeat("ä", 500_000)}, 8)...)), nil); err != nil || len(m.Text) > 4<<20+8 {
		t.Errorf("%d bytes of text, %v", len(m.Text), err)
	}
}

func TestReadTellsErrors(t *testing.T) {
	whole := mixed(plain, attachment("Content-Type: a/b", strings.Repeat("x", 100_000)))
	failing := io.MultiReader(strings.NewReader(whole[:5000]), iotest.ErrReader(iotest.ErrTimeout))
	drain := func(_ mail.Attachment, r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	if _, err := mail.Read(failing, drain); !errors.Is(err, iotest.ErrTimeout) {
		t.Error(err)
	}
	full := errors.New("full")
	if _, err := mail.Read(strings.NewReader(whole), func(mail.Attachment, io.Reader) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	cut := mixed(attachment("Content-Type: a/b", "xxx") + "x")
	if m, err := mail.Read(strings.NewReader(cut), drain); err != nil || !slices.Equal(m.Damaged, []int{0}) {
		t.Errorf("%+v, %v", m, err)
	}
}

// FuzzRead reads anything: it ends, the result does not depend on take or on the reads of the source, and
// what stands around it is not lost.
func FuzzRead(f *testing.F) {
	f.Add(mixed(parts("alternative", "A", plain, rich), attachment("Content-Disposition: attachment; filename*0*=utf-8''a%20; filename*1=b", "x")))
	f.Add(letter("Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable", "<p>=C3=BC="))
	f.Add("A: b\n\nx")
	for _, m := range odd.Mails() {
		if len(m.Content) < 4096 {
			f.Add(string(m.Content))
		}
	}
	f.Fuzz(func(t *testing.T, content string) {
		taken, size := 0, 0
		m, err := mail.Read(iotest.HalfReader(strings.NewReader(content)), func(a mail.Attachment, r io.Reader) error {
			taken++
			n, err := io.Copy(io.Discard, r)
			size += int(n)
			if !utf8.ValidString(a.Name) || len(a.Name) > 255 || strings.ContainsFunc(a.Name, unicode.IsControl) {
				t.Errorf("the name is %q", a.Name)
			}
			return err
		})
		if err == nil && taken != len(m.Attachments) {
			t.Errorf("%d taken of %q", taken, m.Attachments)
		}
		if most := 4*len(content) + 1024; size > most || len(m.Text) > most || !utf8.ValidString(m.String()) {
			t.Errorf("%d bytes became %d and %q", len(content), size, m.Text)
		}
		if alone, failed := mail.Read(strings.NewReader(content), nil); err == nil && (failed != nil || alone.String() != m.String()) {
			t.Errorf("%q, %v is not %q", alone.String(), failed, m.String())
		}
		const around = "fuzzed-0815-boundary"
		if strings.Contains(content, around) || err != nil {
			return
		}
		m, err = mail.Read(strings.NewReader("Content-Type: multipart/mixed; boundary="+around+"\r\n\r\n--"+around+"\r\n\r\nQuittenbrot\r\n--"+around+"\r\n"+
			content+"\r\n--"+around+"\r\nContent-Type: application/pdf; name=rest.pdf\r\n\r\nPDF\r\n--"+around+"\r\n\r\nSchlehenmus\r\n--"+around+"--\r\n"), nil)
		last := len(m.Attachments) - 1
		if err == nil && (!strings.Contains(m.Text, "Quittenbrot") || !strings.Contains(m.Text, "Schlehenmus") || last < 0 || m.Attachments[last] != "rest.pdf") {
			t.Errorf("around it %q, %q", m.Text, m.Attachments)
		}
	})
}

// An e-mail that is not what the books say is read as mail programs do, and no part of it is lost.
func TestReadOdd(t *testing.T) {
	all := odd.Mails()
	if len(all) < 80 {
		t.Errorf("%d e-mails", len(all))
	}
	for _, test := range all {
		t.Run(test.Name, func(t *testing.T) {
			var files []odd.Attached
			m, err := mail.Read(iotest.OneByteReader(bytes.NewReader(test.Content)), func(a mail.Attachment, r io.Reader) error {
				n, err := io.Copy(io.Discard, r)
				files = append(files, odd.Attached{Name: a.Name, Size: int(n)})
				return err
			})
			if err != nil || !slices.Equal(files, test.Files) || !slices.Equal(m.Damaged, test.Damaged) {
				t.Errorf("attached %+v, damaged %v, %v; want %+v, %v", files, m.Damaged, err, test.Files, test.Damaged)
			}
			rest := m.String()
			if subject := "Subject: " + test.Subject + "\n"; test.Subject != "" && !strings.Contains(rest, subject) {
				t.Errorf("the header is %q, want %q", m.Header, subject)
			}
			for _, word := range test.Words {
				_, after, found := strings.Cut(rest, word)
				if !found {
					t.Errorf("%q is not in %q", word, rest[:min(len(rest), 400)])
				}
				rest = after
			}
			if alone, err := mail.Read(bytes.NewReader(test.Content), nil); err != nil || alone.String() != m.String() {
				t.Errorf("read without taking anything: %q, %v; want %q", alone.String(), err, m.String())
			}
			if strings.Contains(m.Text, "JVBERi0") || strings.Contains(m.Text, "--bb") {
				t.Errorf("the text is %q", m.Text)
			}
		})
	}
}
