package server_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/testing/odd"
	"github.com/archivefs/archivefs/internal/testing/pdftest"
)

const mail = "From: eve@example.org\r\nTo: adam@example.org\r\nSubject: Offer\r\nMIME-Version: 1.0\r\n" +
	"Content-Type: multipart/mixed; boundary=M\r\n\r\n" +
	"--M\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n" +
	"--M\r\nContent-Type: text/csv; name=\"list.csv\"\r\nContent-Disposition: attachment; filename=\"list.csv\"\r\n\r\na;b\r\n" +
	"--M\r\nContent-Type: text/plain\r\nContent-Disposition: attachment\r\n\r\nunnamed\r\n" +
	"--M\r\nContent-Type: image/png\r\nContent-Disposition: inline; filename=\"logo.png\"\r\nContent-ID: <logo>\r\n\r\nshown\r\n" +
	"--M--\r\n"

func TestUploadOfAnEmail(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		order string
		want  []string
		first string
	}{
		{"", []string{"offer.eml"}, "offer.eml"},
		{"EMAIL_ONLY", []string{"offer.eml"}, "offer.eml"},
		{"EMAIL_THEN_ATTACHMENTS", []string{"offer.eml", "list.csv", "attachment 2", "logo.png"}, "offer.eml"},
		{"ATTACHMENTS_THEN_EMAIL", []string{"list.csv", "attachment 2", "logo.png", "offer.eml"}, "list.csv"},
		{"ATTACHMENTS_ONLY", []string{"list.csv", "attachment 2", "logo.png"}, "list.csv"},
	} {
		t.Run(test.order, func(t *testing.T) {
			h := start(t)
			o := furnish(t, h)
			fields := []string{"target-folder-id", text(o.spare), "email-import-order", test.order, "keywords", "mail", "external-id", "M"}
			first := h.uploaded("offer.eml", mail, fields...)
			documents := h.list(o.spare)
			var ids []archive.ID
			for i, d := range documents {
				if i >= len(test.want) || !strings.HasPrefix(d.Name, test.want[i]) || !slices.Equal(d.Keywords, []string{"mail"}) {
					t.Errorf("document %d: %+v", i, d)
				}
				if d.ID != first {
					ids = append(ids, d.ID)
				}
			}
			if len(documents) != len(test.want) || documents[0].ID != first || documents[0].Name != test.first {
				t.Fatalf("first %d of %v", first, names(documents))
			}
			with := decode[[]archive.ID](t, h.get("/document/"+text(first)+"/uploaded-with"))
			if !slices.Equal(with, ids) {
				t.Errorf("uploaded with %v, want %v", with, ids)
			}
			if again := h.uploaded("offer.eml", mail, fields...); again != first {
				t.Errorf("sent again it is %d, not %d", again, first)
			}
		})
	}
}

func TestUploadOfAnEmailKeepsContents(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	first := h.uploaded("offer.eml", mail, "target-folder-id", text(o.spare), "email-import-order", "EMAIL_THEN_ATTACHMENTS")
	listed := h.list(o.spare)
	if a := h.get("/document/" + text(first) + "/pdf?original=true"); a.body != mail || *listed[0].Type != "message/rfc822" {
		t.Errorf("the message is %s %q", *listed[0].Type, a.body)
	}
	list := listed[1]
	if a := h.get("/document/" + text(list.ID) + "/pdf?original=true"); a.body != "a;b" || *list.Type != "text/csv; charset=utf-8" {
		t.Errorf("the attachment is %s %q", *list.Type, a.body)
	}
	if a := h.post("/document/"+text(list.ID)+"/archive", "target-folder-id", text(o.other)); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	archived := h.list(o.other)[0]
	if with := decode[[]archive.ID](t, h.get("/document/"+text(archived.ID)+"/uploaded-with")); len(with) != 3 || with[0] != first {
		t.Errorf("after archiving uploaded with %v", with)
	}
}

// An e-mail of which there is too much is refused, and nothing of it is kept.
func TestUploadOfAnEmailThatIsTooMuch(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	before := h.kept()
	head := "From: a@example.org\r\nDate: Mon, 20 Nov 2023 10:00:00 +0100\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=M\r\n\r\n"
	part := "--M\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n"
	for name, test := range map[string]struct {
		mail   string
		status int
	}{
		"many attachments":  {head + strings.Repeat(part+"eHh4\r\n", 501) + "--M--\r\n", http.StatusRequestEntityTooLarge},
		"parts in parts ..": {nested(head, 30), http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			fields := []string{"target-folder-id", text(o.spare), "email-import-order"}
			wantProblem(t, h.upload("m", test.mail, append(fields, "ATTACHMENTS_THEN_EMAIL")...), test.status, "email-import-order")
			if documents := h.list(o.spare); len(documents) != 0 || h.kept() != before {
				t.Errorf("kept %v", names(documents))
			}
			wantStaged(t, h, 0)
			id := h.uploaded("m", test.mail, append(fields, "EMAIL_ONLY")...) // accepted as a whole
			if d := h.list(o.spare)[0]; *d.Type != "message/rfc822" {
				t.Errorf("it is a %s", *d.Type)
			}
			h.post("/document/" + text(id) + "/delete")
		})
	}
}

// nested begins an e-mail with so many nested parts.
func nested(head string, depth int) string {
	boundary := "M"
	for i := range depth {
		next := fmt.Sprint("N", i)
		head += "--" + boundary + "\r\nContent-Type: multipart/mixed; boundary=" + next + "\r\n\r\n"
		boundary = next
	}
	return head
}

// What is in an odd e-mail becomes documents, and what is missing of one is noted on it.
func TestUploadOfOddEmails(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	wanted := []string{
		"a line of Exchange first", "a byte order mark", "line ends of an old Mac", "a part with a vertical tab in a name", "a part with a line that is no field",
		"no boundary", "base64 cut off", "uuencode in a text", "an e-mail in it", "a file of no type", "a name: a slash", "a name: none",
		"a subject: a slash", "winmail.dat", "winmail.dat that is cut off",
	}
	for _, m := range odd.Mails() {
		if !slices.Contains(wanted, m.Name) {
			continue
		}
		wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == m.Name })
		t.Run(m.Name, func(t *testing.T) {
			id := h.uploaded("odd.eml", string(m.Content), "target-folder-id", text(o.spare), "email-import-order", "EMAIL_THEN_ATTACHMENTS")
			documents := h.list(o.spare)
			if len(documents) != len(m.Files)+1 || documents[0].ID != id || *documents[0].Type != "message/rfc822" {
				t.Fatalf("it became %v", names(documents))
			}
			for i, d := range documents[1:] {
				want := m.Files[i]
				if want.Name == "" {
					want.Name = fmt.Sprintf("attachment %d.pdf", i+1)
				}
				if d.Name != want.Name || *d.Length != int64(want.Size) {
					t.Errorf("attachment %d is %s of %d bytes, want %+v", i, d.Name, *d.Length, want)
				}
				if noted := strings.Contains(h.get("/document/"+text(d.ID)+"/data").body, "is damaged"); noted != slices.Contains(m.Damaged, i) {
					t.Errorf("damage of attachment %d is noted: %v", i, noted)
				}
			}
			for _, d := range documents {
				if a := h.post("/document/" + text(d.ID) + "/delete"); a.status != http.StatusOK {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
	if len(wanted) > 0 {
		t.Errorf("there is no %q", wanted)
	}
}

// An attachment in which the e-mail ends is noted to be incomplete, unless it is whole.
func TestUploadOfAnEmailThatIsCutOff(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	const begin = "From: a@example.org\r\nDate: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=M\r\n\r\n--M\r\n\r\nSee below.\r\n--M\r\n" +
		"Content-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n"
	var lines strings.Builder
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString([]byte(pdftest.Plain(0, strings.Repeat("x", 3000))))), 76) {
		lines.WriteString(string(line) + "\r\n")
	}
	for cut, noted := range map[string]bool{
		lines.String(): false, lines.String()[:780]: true, lines.String()[:790]: true, lines.String()[:791]: true, lines.String()[:1000]: true, lines.String()[:lines.Len()/78*78]: true,
	} {
		h.uploaded("cut.eml", begin+cut, "target-folder-id", text(o.spare), "email-import-order", "ATTACHMENTS_ONLY")
		d := h.list(o.spare)[0]
		if got := strings.Contains(h.get("/document/"+text(d.ID)+"/data").body, "has only a part of this attachment"); got != noted || d.Name != "a.pdf" {
			t.Errorf("%d bytes of base64: %s, noted %v", len(cut), d.Name, got)
		}
		h.post("/document/" + text(d.ID) + "/delete")
	}
}

func TestUploadOfOtherFilesIgnoresTheOrder(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	h.uploaded("note.txt", "no e-mail", "target-folder-id", text(o.spare), "email-import-order", "ATTACHMENTS_ONLY")
	if got := names(h.list(o.spare)); !slices.Equal(got, []string{"note.txt"}) {
		t.Errorf("documents %v", got)
	}
	plain := "From: a@example.org\r\nSubject: no files\r\n\r\ntext\r\n"
	wantProblem(t, h.upload("plain.eml", plain, "target-folder-id", text(o.spare), "email-import-order", "ATTACHMENTS_ONLY"),
		http.StatusBadRequest, "email-import-order")
	wantProblem(t, h.get("/document/999/uploaded-with"), http.StatusNotFound, "id")
	wantStaged(t, h, 0)
}
