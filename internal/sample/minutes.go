package sample

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// minutesPaper sets the minutes of a meeting with the given number of points.
func minutesPaper(rnd *rand.Rand, host company, subject string, date time.Time, points int) paper {
	p := paper{title: "Protokoll: " + subject, author: host.name, date: date}
	p.add(styleTitle, "Besprechungsprotokoll")
	p.add(styleBody, "Thema: "+subject+"\nDatum: "+germanDate(date)+"\nOrt: "+host.town()+", Besprechungsraum „Ölmühle“")
	p.add(styleBody, "Teilnehmer: "+strings.Join(staff(), ", "))
	topics := meetingTopics()
	for n, i := range rnd.Perm(len(topics))[:points] {
		p.add(styleHeading, fmt.Sprintf("TOP %d  %s", n+1, topics[i].subject))
		for _, text := range topics[i].paragraphs {
			p.add(styleBody, text)
		}
		p.add(styleSmall, "Verantwortlich: "+pick(rnd, staff())+" · bis "+germanDate(date.AddDate(0, 0, 7+rnd.IntN(40))))
	}
	return p
}

// staff are the people of Muster GmbH.
func staff() []string {
	return []string{"Erika Mustermann", "Jürgen Großkötter", "Aylin Öztan-Weiß", "Björn Käsebrink", "Theo Überacker"}
}

// meetingTopics is what meetings are about; there are six.
func meetingTopics() []topic {
	return []topic{
		{"Stand der Baugenehmigung", []string{
			"Das Bauordnungsamt hat den Eingang bestätigt. Nachzureichen sind der Lageplan und der Nachweis der Stellplätze. Der Brandschutznachweis liegt vor und wurde ohne Anmerkungen geprüft.",
		}},
		{"Statik der Zwischenbühne", []string{
			"Die zulässige Flächenlast von 5 kN/m² reicht für die geplanten Regale nicht aus. Der Statiker untersucht, ob zusätzliche Stützen in Achse 4 genügen oder der Überzug verstärkt werden muss.",
			"Bis zur Klärung wird die Bühne nur mit Leergut belegt.",
		}},
		{"Lüftung und Wärmerückgewinnung", []string{
			"Zwei Angebote liegen vor. Die Anlage mit Rotationswärmetauscher ist in der Anschaffung teurer, spart aber über zehn Jahre mehr als den Aufpreis. Der Förderantrag ist vor der Beauftragung zu stellen.",
		}},
		{"Umzug des Warenlagers", []string{
			"Der Umzug wird auf drei Wochenenden verteilt. Schnelldreher bleiben bis zuletzt am alten Platz. Für die Inventur am Ende werden zwölf Personen benötigt.",
			"Die Spedition stellt zwei Fahrzeuge mit Ladebordwand; Paletten sind vorab zu etikettieren.",
		}},
		{"Kosten und Zeitplan", []string{
			"Von den freigegebenen Mitteln sind 62 % verplant und 41 % ausgegeben. Der Puffer von drei Wochen ist durch die Lieferzeit der Tore aufgebraucht. Eine Entscheidung über den Verzicht auf das Vordach fällt in der nächsten Sitzung.",
		}},
		{"Verschiedenes", []string{
			"Die Schließanlage wird um sechs Zylinder erweitert. Für die Übergangszeit werden Schlüssel gegen Unterschrift ausgegeben. Der nächste Termin wird per E-Mail abgestimmt.",
		}},
	}
}
