package sample

import "time"

// letter is a business letter.
type letter struct {
	from       company
	to         string // address block
	date       time.Time
	subject    string
	paragraphs []string
	signer     string
}

// paper sets the letter.
func (l letter) paper() paper {
	p := paper{title: l.subject, author: l.from.name, date: l.date}
	p.addLetterhead(l.from, l.to)
	p.add(styleHeading, l.subject)
	p.add(styleBody, "Sehr geehrte Damen und Herren,")
	for _, text := range l.paragraphs {
		p.add(styleBody, text)
	}
	p.add(styleBody, "Mit freundlichen Grüßen\n\n"+l.signer+"\n"+l.from.name)
	return p
}

// topic is what a letter or an e-mail is about.
type topic struct {
	subject    string
	paragraphs []string
}

// customerTopics is what customers write about.
func customerTopics() []topic {
	return []topic{
		{"Rückfrage zu Ihrer Lieferung", []string{
			"mit der letzten Lieferung kamen statt der bestellten zwölf nur zehn Regalböden an. Auf dem Lieferschein sind zwölf Stück vermerkt.",
			"Bitte prüfen Sie, ob die fehlenden Böden noch in Ihrem Lager stehen, und teilen Sie uns den Termin der Nachlieferung mit. Unsere Öffnungszeiten für Anlieferungen sind werktags von 7 bis 15 Uhr.",
		}},
		{"Terminverschiebung Aufmaß", []string{
			"leider müssen wir das für Donnerstag vereinbarte Aufmaß verschieben, weil die Estricharbeiten im Erdgeschoss noch nicht abgeschlossen sind.",
			"Wir schlagen den Mittwoch der folgenden Woche um 9 Uhr vor. Der Zugang erfolgt über die Rampe an der Südseite.",
		}},
		{"Reklamation: Kratzer an der Oberfläche", []string{
			"beim Auspacken haben wir an drei Fronten tiefe Kratzer gefunden. Fotos haben wir unserem Monteur mitgegeben.",
			"Wir bitten um Ersatz bis zum Monatsende und behalten den anteiligen Rechnungsbetrag bis dahin ein.",
			"Die beschädigten Teile stehen zur Abholung bereit.",
		}},
		{"Auftragsbestätigung und Zahlungsplan", []string{
			"anbei erhalten Sie die unterschriebene Auftragsbestätigung. Mit dem Zahlungsplan – 30 % bei Auftrag, 60 % bei Lieferung, 10 % nach Abnahme – sind wir einverstanden.",
			"Bitte senden Sie Rechnungen künftig ausschließlich als PDF an unsere zentrale Adresse.",
		}},
		{"Änderung unserer Bankverbindung", []string{
			"zum nächsten Monatsersten ändert sich unsere Bankverbindung. Bitte verwenden Sie für Gutschriften nur noch das neue Konto.",
			"Zu Ihrer Sicherheit bestätigen wir die Änderung gern telefonisch unter der Ihnen bekannten Nummer.",
		}},
	}
}

// officeTopics is what authorities write about.
func officeTopics() []topic {
	return []topic{
		{"Eingangsbestätigung Ihres Bauantrags", []string{
			"Ihr Antrag auf Nutzungsänderung der Lagerhalle Süd ist eingegangen und wird unter dem oben genannten Datum geführt.",
			"Für die weitere Bearbeitung fehlen der Lageplan im Maßstab 1:500 und der Nachweis der Stellplätze in je dreifacher Ausfertigung. Bitte reichen Sie diese innerhalb von vier Wochen nach.",
		}},
		{"Erinnerung an die Umsatzsteuer-Voranmeldung", []string{
			"die Voranmeldung für den abgelaufenen Zeitraum liegt noch nicht vor. Sie war am zehnten Tag nach Ablauf des Voranmeldungszeitraums abzugeben.",
			"Sollte sich dieses Schreiben mit Ihrer Übermittlung überschnitten haben, betrachten Sie es bitte als gegenstandslos.",
		}},
		{"Ankündigung einer Betriebsbesichtigung", []string{
			"wir beabsichtigen, Ihren Betrieb im kommenden Quartal zu besichtigen. Schwerpunkte sind Ladungssicherung, Leitern und Tritte sowie die Unterweisung der Beschäftigten.",
			"Bitte halten Sie die Gefährdungsbeurteilung und die Prüfbücher der Regalanlagen bereit.",
		}},
	}
}

// jobTopics is what applicants and staff write about.
func jobTopics() []topic {
	return []topic{
		{"Bewerbung als Fachkraft für Lagerlogistik", []string{
			"mit großem Interesse habe ich Ihre Anzeige gelesen. Nach meiner Ausbildung habe ich fünf Jahre im Wareneingang gearbeitet; Staplerschein und Erfahrung mit mobiler Datenerfassung bringe ich mit.",
			"Über eine Einladung zu einem persönlichen Gespräch freue ich mich. Mein frühestmöglicher Eintrittstermin ist der erste Tag des übernächsten Monats.",
		}},
		{"Urlaubsantrag", []string{
			"hiermit beantrage ich zehn Tage Erholungsurlaub. Die Vertretung ist mit den Kolleginnen und Kollegen abgesprochen.",
		}},
		{"Teilnahmebescheinigung Ersthelferlehrgang", []string{
			"die Teilnahme am Lehrgang über neun Unterrichtseinheiten wird bestätigt. Die Auffrischung ist nach zwei Jahren fällig.",
		}},
	}
}
