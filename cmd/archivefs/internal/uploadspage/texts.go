package uploadspage

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
)

// texts are all words of the page in one language. Reasons of the mount and of the service are English in all of them.
type texts struct {
	Lang, Title, Skip, At, Service string

	Health, OK, Away, Refused, Disk, WhatToDo, AsOf string
	Silent, NoStatus                                string

	Failed, Waiting, Local, NothingFailed, NothingWaits, LocalHint string
	OneFailed, ManyFailed, OneWaits, ManyWait                      string

	IsIncomplete, IsNever, IsRefused, IsInDoubt, Waits, IsSent, IsAllSent, IsQueued, IsLocal string
	Reason, Size, Changed, SentOf, Folder                                                    string

	Retry, RetryNow, AsItIs, AsItIsHint, Save, Discard string

	AskTitle, AskText, AskSure, AskDo, AskBack string

	Retried, Discarded, NotDone, MayStill, Gone string

	Traffic, TrafficHint, Sent, Received, PerSecond, LastMinutes, NoTraffic string

	Ended, Footer, NotYours, Spent, LockedTitle, Refresh string

	dateTime, point string
}

var english = texts{
	Lang: "en", Title: "Uploads to the archive", Skip: "To what failed", At: "Mounted at", Service: "Archive service",

	Health: "State", OK: "All is well: the service answers, and nothing failed.",
	Away:     "The service does not answer, or cannot do what it is asked. What waits is sent when it can.",
	Refused:  "The service refuses the credentials. Nothing can be archived until they are valid.",
	Disk:     "The disk of this machine takes no files: it is full, read-only or failing. New files may be refused.",
	WhatToDo: "What to do", AsOf: "This is the state of",
	Silent:   "The mount does not answer. This page tries again by itself.",
	NoStatus: "The mount cannot be asked.",

	Failed: "Not archived", Waiting: "On their way", Local: "Only on this machine", NothingFailed: "Nothing failed.", NothingWaits: "Nothing waits.",
	LocalHint: "These files have temporary names, and are never sent.",
	OneFailed: "1 file was not archived, and waits for your decision.", ManyFailed: "%d files were not archived, and wait for your decision.", OneWaits: "1 file is on its way.", ManyWait: "%d files are on their way.",

	IsIncomplete: "The file is incomplete: whoever wrote it did not finish, or its end is missing.", IsNever: "It cannot be sent as it is. Save a copy to keep it.",
	IsRefused: "The archive did not take it.", IsInDoubt: "It was sent, but no answer came. It is looked for before it is sent again.",
	Waits: "It waits, and is sent again by itself.", IsSent: "It is being sent.", IsAllSent: "It was sent, and waits for the answer.", IsQueued: "It waits for its turn.", IsLocal: "It stays on this machine.",
	Reason: "Reason", Size: "Size", Changed: "Changed", SentOf: "%d %% sent", Folder: "a folder",

	Retry: "Try again", RetryNow: "Try now", AsItIs: "Send as it is", AsItIsHint: "What is missing will be missing in the archive, too.",
	Save: "Save a copy", Discard: "Discard …",

	AskTitle: "Discard this file?", AskText: "Its bytes are deleted from this machine, and the archive does not have them. This cannot be undone. Save a copy first if you may need it.",
	AskSure: "I do not need this file any more.", AskDo: "Discard for good", AskBack: "Keep it, and go back",

	Retried: "It is sent again.", Discarded: "It is discarded.", NotDone: "That did not work.", MayStill: "The mount does not answer yet. What you have decided may still happen.", Gone: "It is not in the list any more: it may be archived, or somebody has decided.",

	Traffic: "Traffic", TrafficHint: "Bytes to and from the archive service", Sent: "sent", Received: "received", PerSecond: "%s/s",
	LastMinutes: "the last 5 minutes, at most %s", NoTraffic: "The curve begins in some seconds.",

	Ended: "This page has ended. “archivefs uploads show” opens a new one.", Footer: "This page is for you alone, on this machine. It ends some minutes after you close it.",
	NotYours: "This page belongs to another user, or was opened by another name.", Spent: "The address of this page works once, in one browser. “archivefs uploads show” opens a new page.",
	LockedTitle: "This page is closed", Refresh: "Refresh",

	dateTime: "Jan 2, 2006, 15:04:05", point: ".",
}

var german = texts{
	Lang: "de", Title: "Dateien auf dem Weg ins Archiv", Skip: "Zu den Fehlern", At: "Eingehängt unter", Service: "Archivdienst",

	Health: "Zustand", OK: "Alles in Ordnung: Der Dienst antwortet, und nichts ist fehlgeschlagen.",
	Away:     "Der Dienst antwortet nicht oder kann gerade nicht arbeiten. Was wartet, wird gesendet, sobald es geht.",
	Refused:  "Der Dienst lehnt die Zugangsdaten ab. Bis sie gültig sind, kann nichts archiviert werden.",
	Disk:     "Die Festplatte dieses Rechners nimmt keine Dateien an: Sie ist voll, schreibgeschützt oder defekt. Neue Dateien werden vielleicht abgelehnt.",
	WhatToDo: "Was zu tun ist", AsOf: "Dies ist der Stand von",
	Silent:   "Das eingehängte Archiv antwortet nicht. Diese Seite versucht es von selbst weiter.",
	NoStatus: "Das eingehängte Archiv kann nicht gefragt werden.",

	Failed: "Nicht archiviert", Waiting: "Unterwegs", Local: "Nur auf diesem Rechner", NothingFailed: "Nichts ist fehlgeschlagen.", NothingWaits: "Nichts wartet.",
	LocalHint: "Diese Dateien haben vorläufige Namen und werden nie gesendet.",
	OneFailed: "1 Datei wurde nicht archiviert und wartet auf Ihre Entscheidung.", ManyFailed: "%d Dateien wurden nicht archiviert und warten auf Ihre Entscheidung.", OneWaits: "1 Datei ist unterwegs.", ManyWait: "%d Dateien sind unterwegs.",

	IsIncomplete: "Die Datei ist unvollständig: Sie wurde nicht fertig geschrieben, oder ihr Ende fehlt.", IsNever: "Sie kann so nicht gesendet werden. Sichern Sie eine Kopie, um sie zu behalten.",
	IsRefused: "Das Archiv hat sie nicht angenommen.", IsInDoubt: "Sie wurde gesendet, aber es kam keine Antwort. Bevor sie noch einmal gesendet wird, wird nach ihr gesucht.",
	Waits: "Sie wartet und wird von selbst noch einmal gesendet.", IsSent: "Sie wird gerade gesendet.", IsAllSent: "Sie ist gesendet und wartet auf die Antwort.", IsQueued: "Sie wartet, bis sie an der Reihe ist.", IsLocal: "Sie bleibt auf diesem Rechner.",
	Reason: "Grund", Size: "Größe", Changed: "Geändert", SentOf: "%d %% gesendet", Folder: "ein Ordner",

	Retry: "Noch einmal versuchen", RetryNow: "Jetzt versuchen", AsItIs: "So senden, wie sie ist", AsItIsHint: "Was fehlt, fehlt dann auch im Archiv.",
	Save: "Kopie sichern", Discard: "Verwerfen …",

	AskTitle: "Diese Datei verwerfen?", AskText: "Ihr Inhalt wird von diesem Rechner gelöscht, und das Archiv hat ihn nicht. Das lässt sich nicht rückgängig machen. Sichern Sie vorher eine Kopie, falls Sie sie noch brauchen.",
	AskSure: "Ich brauche diese Datei nicht mehr.", AskDo: "Endgültig verwerfen", AskBack: "Behalten und zurück",

	Retried: "Sie wird noch einmal gesendet.", Discarded: "Sie ist verworfen.", NotDone: "Das hat nicht geklappt.", MayStill: "Das eingehängte Archiv antwortet noch nicht. Was Sie entschieden haben, geschieht vielleicht noch.", Gone: "Sie steht nicht mehr in der Liste: Vielleicht ist sie archiviert, oder jemand hat entschieden.",

	Traffic: "Datenverkehr", TrafficHint: "Bytes zum Archivdienst und von ihm", Sent: "gesendet", Received: "empfangen", PerSecond: "%s/s",
	LastMinutes: "die letzten 5 Minuten, höchstens %s", NoTraffic: "Die Kurve beginnt in einigen Sekunden.",

	Ended: "Diese Seite ist beendet. „archivefs uploads show“ öffnet eine neue.", Footer: "Diese Seite ist nur für Sie, auf diesem Rechner. Sie endet einige Minuten, nachdem Sie sie schließen.",
	NotYours: "Diese Seite gehört jemand anderem oder wurde unter einem anderen Namen geöffnet.", Spent: "Die Adresse dieser Seite gilt einmal, in einem Browser. „archivefs uploads show“ öffnet eine neue Seite.",
	LockedTitle: "Diese Seite ist geschlossen", Refresh: "Neu laden",

	dateTime: "02.01.2006, 15:04:05", point: ",",
}

// languages choose the texts; the first is for readers of any other language.
var languages = language.NewMatcher([]language.Tag{language.English, language.German})

// textsFor returns the texts for the reader of a request (Accept-Language).
func textsFor(r *http.Request) *texts {
	tags, _, _ := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")) // English otherwise
	if _, at, _ := languages.Match(tags...); at == 1 {
		return &german
	}
	return &english
}

// size is a number of bytes.
func (t *texts) size(n int64) string { return strings.Replace(command.Size(n), ".", t.point, 1) }

func (t *texts) time(at time.Time) string { return at.Local().Format(t.dateTime) }

// count is one of two sentences.
func count(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}
