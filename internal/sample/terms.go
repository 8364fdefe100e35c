package sample

// leaseTerms are the terms of a lease of business premises.
func leaseTerms() []section {
	return []section{
		{"Mietgegenstand", []string{
			"(1) Vermietet werden die im beigefügten Lageplan gekennzeichneten Flächen nebst Rampe, Tor und den zugehörigen Stellplätzen. Der Lageplan ist Bestandteil dieses Vertrags.",
			"(2) Der Mieter hat den Mietgegenstand besichtigt und übernimmt ihn in dem Zustand, den das Übergabeprotokoll ausweist. Darin aufgeführte Mängel beseitigt der Vermieter binnen acht Wochen nach Übergabe.",
			"(3) Änderungen der Nutzung bedürfen der vorherigen Zustimmung des Vermieters in Textform. Behördliche Genehmigungen, die allein den Betrieb des Mieters betreffen, holt dieser auf eigene Kosten ein.",
		}},
		{"Mietzeit", []string{
			"(1) Das Mietverhältnis beginnt mit dem ersten Tag des auf die Unterzeichnung folgenden Monats und wird auf fünf Jahre fest geschlossen.",
			"(2) Es verlängert sich um jeweils ein Jahr, wenn es nicht mit einer Frist von sechs Monaten zum Ablauf gekündigt wird. Eine stillschweigende Fortsetzung durch bloßen Gebrauch ist ausgeschlossen.",
		}},
		{"Miete und Nebenkosten", []string{
			"(1) Die Miete ist monatlich im Voraus, spätestens am dritten Werktag, kostenfrei zu zahlen. Für die Rechtzeitigkeit kommt es auf den Eingang des Geldes an.",
			"(2) Neben der Miete trägt der Mieter die Betriebskosten nach der Betriebskostenverordnung, namentlich Grundsteuer, Wasser, Entwässerung, Straßenreinigung, Versicherung und Hausmeister. Hierauf leistet er monatliche Vorauszahlungen, über die jährlich abgerechnet wird.",
			"(3) Steigt der Verbraucherpreisindex gegenüber dem Stand bei Vertragsbeginn um mehr als fünf vom Hundert, so ändert sich die Miete im gleichen Verhältnis vom Beginn des nächsten Kalenderjahres an.",
		}},
		{"Erhaltung und Schönheitsreparaturen", []string{
			"(1) Der Mieter behandelt den Mietgegenstand pfleglich, hält Tore, Rolltore und Rampen gangbar und lässt die dem Mietgebrauch unterliegenden Anlagen jährlich warten. Nachweise sind dem Vermieter auf Verlangen vorzulegen.",
			"(2) Dach und Fach erhält der Vermieter. Schäden zeigt der Mieter unverzüglich an; unterlässt er dies, so haftet er für den daraus entstehenden Nachteil.",
		}},
	}
}

// serviceTerms are the terms of a maintenance agreement.
func serviceTerms() []section {
	return []section{
		{"Gegenstand der Wartung", []string{
			"(1) Der Auftragnehmer wartet die in der Anlage aufgeführten Geräte und Einrichtungen nach den anerkannten Regeln der Technik und den Vorgaben der Hersteller.",
			"(2) Zur Wartung gehören Sichtprüfung, Reinigung, Funktionsprüfung, Messung der sicherheitsrelevanten Werte sowie der Austausch von Verschleißteilen mit einem Einzelwert bis 50 EUR. Weitergehende Instandsetzungen werden gesondert beauftragt.",
		}},
		{"Termine und Reaktionszeiten", []string{
			"(1) Die Wartung findet zweimal im Kalenderjahr statt. Der Termin wird mindestens zehn Werktage zuvor abgestimmt; der Auftraggeber sorgt für freien Zugang.",
			"(2) Bei Störungen, die den Betrieb zum Stillstand bringen, beginnt der Auftragnehmer werktags zwischen 7 und 18 Uhr innerhalb von vier Stunden, sonst am folgenden Werktag mit der Fehlersuche.",
			"(3) Verzögert sich der Einsatz aus Gründen, die der Auftraggeber zu vertreten hat, so verlängern sich die Fristen entsprechend.",
		}},
		{"Vergütung", []string{
			"(1) Für die Wartung wird eine jährliche Pauschale vereinbart, die zu Beginn des Vertragsjahres in Rechnung gestellt wird. Anfahrten zur planmäßigen Wartung sind darin enthalten.",
			"(2) Störungseinsätze werden nach Aufwand zu den jeweils gültigen Stundensätzen abgerechnet. Über jeden Einsatz wird ein Arbeitsbericht geführt, den der Auftraggeber gegenzeichnet.",
		}},
		{"Dokumentation", []string{
			"Der Auftragnehmer führt für jede Anlage ein Prüfbuch und übergibt nach jeder Wartung ein Protokoll in elektronischer Form. Mängel werden nach Dringlichkeit eingestuft; bei Gefahr im Verzug legt er die Anlage still und unterrichtet den Auftraggeber sofort.",
		}},
	}
}

// employmentTerms are the terms of a contract of employment.
func employmentTerms() []section {
	return []section{
		{"Beginn und Tätigkeit", []string{
			"(1) Das Arbeitsverhältnis beginnt am ersten Tag des folgenden Monats. Die ersten sechs Monate gelten als Probezeit, in der mit einer Frist von zwei Wochen gekündigt werden kann.",
			"(2) Die Tätigkeit umfasst die Sachbearbeitung im Einkauf einschließlich der Pflege der Stammdaten, der Prüfung von Eingangsrechnungen und der Ablage im Archiv. Der Arbeitgeber kann andere zumutbare Aufgaben zuweisen.",
		}},
		{"Arbeitszeit", []string{
			"(1) Die regelmäßige Arbeitszeit beträgt 38,5 Stunden in der Woche. Beginn und Ende richten sich nach der Betriebsvereinbarung über gleitende Arbeitszeit.",
			"(2) Überstunden werden vorrangig durch Freizeit ausgeglichen. Ein Ausgleich in Geld bedarf der Absprache mit der Personalabteilung.",
		}},
		{"Vergütung", []string{
			"Das monatliche Bruttogehalt ist am letzten Bankarbeitstag des Monats fällig. Eine Jahressonderzahlung wird freiwillig gewährt; auch bei wiederholter Zahlung entsteht kein Anspruch für die Zukunft.",
		}},
		{"Urlaub und Arbeitsverhinderung", []string{
			"(1) Der Erholungsurlaub beträgt 30 Arbeitstage im Kalenderjahr. Er wird in Abstimmung mit der Abteilung genommen und soll zwei zusammenhängende Wochen enthalten.",
			"(2) Jede Arbeitsverhinderung ist unverzüglich anzuzeigen. Dauert eine Erkrankung länger als drei Kalendertage, so ist die Arbeitsunfähigkeit spätestens am folgenden Arbeitstag ärztlich festzustellen.",
		}},
		{"Verschwiegenheit", []string{
			"Über Betriebs- und Geschäftsgeheimnisse ist auch nach dem Ende des Arbeitsverhältnisses Stillschweigen zu bewahren. Personenbezogene Daten dürfen nur im Rahmen der übertragenen Aufgaben verarbeitet werden.",
		}},
	}
}

// supplyTerms are the terms of a framework agreement on supplies.
func supplyTerms() []section {
	return []section{
		{"Gegenstand und Abrufe", []string{
			"(1) Der Lieferant liefert die in der Preisliste bezeichneten Waren auf Abruf. Abrufe erfolgen in Textform und gelten als angenommen, wenn ihnen nicht binnen zwei Werktagen widersprochen wird.",
			"(2) Eine Abnahmepflicht besteht nur für die im Jahresplan bestätigten Mengen. Abweichungen bis zu zehn vom Hundert sind zulässig.",
		}},
		{"Lieferung und Gefahrübergang", []string{
			"(1) Geliefert wird frei Haus an die vom Besteller benannte Anlieferstelle. Die Gefahr geht mit der Übergabe an der Rampe über.",
			"(2) Jeder Lieferung liegt ein Lieferschein bei, der Bestellnummer, Artikel, Menge und Charge nennt. Fehlt er, so verlängert sich die Zahlungsfrist um die Dauer der Klärung.",
		}},
		{"Preise und Zahlung", []string{
			"(1) Die Preise gelten für zwölf Monate. Änderungen werden mit einer Frist von drei Monaten angekündigt und begründet.",
			"(2) Rechnungen werden als elektronisches Dokument gestellt. Sie sind binnen 30 Tagen netto, binnen 10 Tagen mit zwei vom Hundert Skonto zahlbar.",
		}},
		{"Mängel und Rückruf", []string{
			"(1) Offensichtliche Mängel rügt der Besteller binnen fünf Werktagen nach Eingang, verdeckte unverzüglich nach ihrer Entdeckung.",
			"(2) Der Lieferant hält ein System zur Rückverfolgung der Chargen vor und trägt die Kosten eines Rückrufs, soweit dieser auf einem Mangel seiner Ware beruht.",
		}},
	}
}

// closingTerms end every contract.
func closingTerms() []section {
	return []section{
		{"Haftung", []string{
			"(1) Die Parteien haften unbeschränkt bei Vorsatz und grober Fahrlässigkeit sowie für Schäden aus der Verletzung des Lebens, des Körpers oder der Gesundheit.",
			"(2) Bei leicht fahrlässiger Verletzung einer wesentlichen Vertragspflicht ist die Haftung auf den vertragstypischen, vorhersehbaren Schaden begrenzt. Im Übrigen ist sie ausgeschlossen.",
		}},
		{"Datenschutz und Aufbewahrung", []string{
			"(1) Personenbezogene Daten werden nur verarbeitet, soweit es zur Durchführung dieses Vertrags erforderlich ist.",
			"(2) Unterlagen, die nach Handels- oder Steuerrecht aufzubewahren sind, werden in einem revisionssicheren Archiv abgelegt und nach Ablauf der Fristen gelöscht.",
		}},
		{"Abtretung und Aufrechnung", []string{
			"(1) Rechte und Pflichten aus diesem Vertrag dürfen nur mit vorheriger Zustimmung der anderen Partei übertragen werden. Die Zustimmung darf nicht ohne sachlichen Grund verweigert werden.",
			"(2) Aufgerechnet werden kann nur mit unbestrittenen oder rechtskräftig festgestellten Forderungen. Ein Zurückbehaltungsrecht besteht nur wegen Ansprüchen aus demselben Vertrag.",
		}},
		{"Höhere Gewalt", []string{
			"(1) Ereignisse, die keine Partei zu vertreten hat und die auch mit äußerster Sorgfalt nicht abgewendet werden können, befreien für ihre Dauer von den betroffenen Pflichten. Dazu zählen Hochwasser, Feuer, Stromausfall, behördliche Anordnungen und Arbeitskämpfe in fremden Betrieben.",
			"(2) Die betroffene Partei zeigt Beginn und voraussichtliches Ende an. Dauert das Ereignis länger als drei Monate, so kann jede Partei den Vertrag mit einer Frist von zwei Wochen auflösen.",
		}},
		{"Mitteilungen", []string{
			"Mitteilungen sind an die im Eingang genannten Anschriften zu richten. Soweit nichts anderes bestimmt ist, genügt Textform. Änderungen der Anschrift, der Bankverbindung und der Ansprechpartner werden unverzüglich bekannt gegeben; bis dahin gilt eine Mitteilung an die bisherige Anschrift als zugegangen.",
		}},
		{"Kündigung aus wichtigem Grund", []string{
			"Das Recht zur Kündigung aus wichtigem Grund bleibt unberührt. Ein wichtiger Grund liegt insbesondere vor, wenn eine Partei ihre Zahlungen einstellt oder eine wesentliche Pflicht trotz Abmahnung mit angemessener Frist weiter verletzt. Jede Kündigung bedarf der Schriftform.",
		}},
		{"Schlussbestimmungen", []string{
			"(1) Mündliche Nebenabreden bestehen nicht. Änderungen und Ergänzungen bedürfen der Schriftform; dies gilt auch für die Aufhebung dieser Klausel.",
			"(2) Ist eine Bestimmung unwirksam oder undurchführbar, so bleibt der Vertrag im Übrigen bestehen. An ihre Stelle tritt eine Regelung, die dem wirtschaftlich Gewollten am nächsten kommt.",
			"(3) Erfüllungsort und, soweit zulässig, Gerichtsstand ist Musterstadt. Jede Partei erhält eine Ausfertigung.",
		}},
	}
}
