package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

const mail = "From: eve@example.org\r\nTo: adam@example.org\r\nSubject: Offer\r\nMIME-Version: 1.0\r\n" +
	"Content-Type: multipart/mixed; boundary=M\r\n\r\n" +
	"--M\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n" +
	"--M\r\nContent-Type: text/csv; name=\"list.csv\"\r\nContent-Disposition: attachment; filename=\"list.csv\"\r\n\r\na;b\r\n" +
	"--M\r\nContent-Type: text/plain\r\nContent-Disposition: attachment\r\n\r\nunnamed\r\n" +
	"--M\r\nContent-Type: image/png\r\nContent-Disposition: inline; filename=\"logo.png\"\r\nContent-ID: <logo>\r\n\r\nshown\r\n" +
	"--M--\r\n"

func TestUploadOfAnEmail(t *testing.T) {
	for _, test := range []struct {
		order string
		want  []string
		first string
	}{
		{"", []string{"offer.eml"}, "offer.eml"},
		{"EMAIL_ONLY", []string{"offer.eml"}, "offer.eml"},
		{"EMAIL_THEN_ATTACHMENTS", []string{"offer.eml", "list.csv", "attachment 2"}, "offer.eml"},
		{"ATTACHMENTS_THEN_EMAIL", []string{"list.csv", "attachment 2", "offer.eml"}, "list.csv"},
		{"ATTACHMENTS_ONLY", []string{"list.csv", "attachment 2"}, "list.csv"},
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
	h := start(t)
	o := furnish(t, h)
	first := h.uploaded("offer.eml", mail, "target-folder-id", text(o.spare), "email-import-order", "EMAIL_THEN_ATTACHMENTS")
	if a := h.get("/document/" + text(first) + "/pdf?original=true"); a.body != mail || a.header.Get("Content-Type") != "message/rfc822" {
		t.Errorf("the message is %s %q", a.header.Get("Content-Type"), a.body)
	}
	list := h.list(o.spare)[1]
	if a := h.get("/document/" + text(list.ID) + "/pdf?original=true"); a.body != "a;b" || *list.Type != "text/csv; charset=utf-8" {
		t.Errorf("the attachment is %s %q", *list.Type, a.body)
	}
	if a := h.post("/document/"+text(list.ID)+"/archive", "target-folder-id", text(o.other)); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	archived := h.list(o.other)[0]
	if with := decode[[]archive.ID](t, h.get("/document/"+text(archived.ID)+"/uploaded-with")); len(with) != 2 || with[0] != first {
		t.Errorf("after archiving uploaded with %v", with)
	}
}

func TestUploadOfOtherFilesIgnoresTheOrder(t *testing.T) {
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
