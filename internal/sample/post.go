package sample

import (
	"strings"
	"time"

	"github.com/emersion/go-message/mail"
)

// email returns an e-mail to the clerk's company about a topic, with a file.
func (c *clerk) email(name string, from company, about topic, date time.Time, with attachment) entry {
	at := officeTime(c.rnd, date)
	m := mailMessage{
		from:    mail.Address{Name: from.name, Address: from.mailbox()},
		to:      mail.Address{Name: c.company.name, Address: c.company.mailbox()},
		date:    at,
		subject: about.subject,
		text: "Sehr geehrte Damen und Herren,\n\n" + strings.Join(about.paragraphs, "\n\n") +
			"\n\nMit freundlichen Grüßen\n" + from.name,
		attachments: []attachment{with},
	}
	e := c.entry(name, date, mailSource(m), "Korrespondenz", "E-Mail", from.name)
	e.Created = at
	return e
}

// letterAttachment returns a letter about the topic as a PDF to go with an e-mail.
func (c *clerk) letterAttachment(from company, about topic, date time.Time) attachment {
	p := letter{
		from: from, to: c.company.address(), date: date, subject: about.subject,
		paragraphs: about.paragraphs, signer: "Geschäftsleitung",
	}.paper()
	return attachment{name: about.subject + ".pdf", contentType: "application/pdf", content: pdfSource(p)}
}

// photoAttachment returns a scanned delivery note of s as a JPEG to go with an e-mail.
func (c *clerk) photoAttachment(s supplier, date time.Time) attachment {
	t, _ := c.trade(tradeDelivery, s, date)
	return attachment{
		name: "Lieferschein " + t.number + ".jpg", contentType: "image/jpeg",
		content: jpegSource(t.paper(), c.rnd.Uint64()),
	}
}
