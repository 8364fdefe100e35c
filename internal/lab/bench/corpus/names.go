package corpus

import (
	"fmt"
	"math/rand/v2"
)

func mandators() []string {
	return []string{
		"Müller & Söhne GmbH", "Bäckerei Größmann KG", "Stadtwerke Überlingen", "Jäger Baustoffe AG", "Königs Apotheke",
		"Weiß Logistik", "Schäfer Möbelhaus", "Öko-Hof Brändle", "Dr. Füßli Kanzlei", "Ätna Stahlhandel",
	}
}

func topFolders() []string {
	return []string{"Buchhaltung", "Personal", "Verträge", "Einkauf"}
}

func middleFolders() []string {
	return []string{
		"Eingangsrechnungen", "Ausgangsrechnungen", "Löhne und Gehälter", "Kündigungen",
		"Aufträge", "Lieferscheine", "Mahnungen", "Behörden",
	}
}

func months() []string {
	return []string{
		"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember",
	}
}

func kinds() []string {
	return []string{
		"Rechnung", "Gutschrift", "Vertrag", "Lieferschein", "Angebot", "Auftragsbestätigung", "Kündigung",
		"Prüfprotokoll", "Versicherungspolice", "Steuerbescheid", "Übergabeprotokoll", "Mahnung",
	}
}

func senders() []string {
	return []string{
		"Fa. Müller", "Straßenbau Jäger", "Telekom Deutschland", "Bürobedarf Höfer", "Energie Süd", "Kanzlei Dr. Weiß",
		"Spedition Käfer", "Gemeinde Großräschen", "Ärztekammer", "IT-Service Schröder",
	}
}

// longTail makes one name of twenty as long as clerks make them.
const longTail = " - Anlage zum Schreiben vom 12. März über die Änderung der Allgemeinen Geschäftsbedingungen" +
	" und der Preisübersicht für gewerbliche Kunden"

// documentName is the name of the i-th document; no two have the same number.
func documentName(r *rand.Rand, i int) string {
	name := fmt.Sprintf("%s %s %04d-%02d-%02d Nr. %06d", pick(r, kinds()), pick(r, senders()),
		1998+r.IntN(28), 1+r.IntN(12), 1+r.IntN(28), i)
	if r.IntN(20) == 0 {
		name += longTail
	}
	if r.IntN(20) == 0 {
		name += " (Entwurf #2, 100%)"
	}
	return name + ".pdf"
}

func pick(r *rand.Rand, words []string) string { return words[r.IntN(len(words))] }

// folders are the paths of the folders of a mandator, 4 + 16 + 16*leaves of them, each
// after the one that it lies in.
func folders(leaves int) []string {
	var paths []string
	middle, leaf := middleFolders(), months()
	for i, top := range topFolders() {
		first := fmt.Sprintf("%02d %s", i+1, top)
		paths = append(paths, first)
		for j := range 4 {
			second := fmt.Sprintf("%s/%s %d", first, middle[(i+j)%len(middle)], 2018+j)
			paths = append(paths, second)
			for k := range leaves {
				paths = append(paths, fmt.Sprintf("%s/%02d %s", second, k+1, leaf[k%len(leaf)]))
			}
		}
	}
	return paths
}
