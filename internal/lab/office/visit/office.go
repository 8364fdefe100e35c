//go:build linux

package visit

import (
	"context"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/office/windows"
)

// zipped is a document of Word or Excel as far as an archive looks at one: a ZIP with its end.
func zipped(title string) string {
	return "PK\x03\x04" + text(title, 20<<10) + "PK\x05\x06" + strings.Repeat("\x00", 18)
}

// owner is the file with which Word says who has a document open.
var owner = "\x05Erika" + strings.Repeat(" ", 156)

// office saves with Word, Excel, LibreOffice and an editor.
func (v *visit) office() {
	pc := v.pc
	v.chapter("Word, Excel and LibreOffice")
	first, second, third := zipped("Word, first"), zipped("Word, second"), zipped("Word, third")
	v.step("Word saves a new document in an inbox", "stored once; the owner file and the temporary file are not",
		pc.write(inbox+"~$tract.docx", owner), pc.word(inbox, "Contract.docx", first, false), v.becomes(inbox+"Contract.docx", first))
	v.step("Word saves it again", "the new text is stored; the old one is not lost",
		pc.word(inbox, "Contract.docx", second, true), v.becomes(inbox+"Contract.docx", second), pc.reads(inbox+"Contract.docx", second))
	v.step("Word saves twice, before it has settled", "stored once more, with the last text",
		pc.word(inbox, "Minutes.docx", first+"minutes", false), pc.word(inbox, "Minutes.docx", third, true), v.becomes(inbox+"Minutes.docx", third))
	v.step("Word closes the document", "the owner file is gone", pc.remove(inbox+"~$tract.docx"), pc.shows(inbox, []string{"Contract.docx"}, "~$tract.docx"))
	letter := zipped("Word, letter")
	v.step("Word saves a new document in a folder", "archived once", pc.write(letters+"~$tter.docx", owner),
		pc.word(letters, "A letter.docx", letter, false), v.becomes(letters+"A letter.docx", letter), pc.remove(letters+"~$tter.docx"))
	v.step("Word saves an archived document again", "access is denied; the archive has the old one under its name",
		refused(pc.word(letters, "A letter.docx", zipped("Word, changed"), true), denied), v.stays)
	book, later := zipped("Excel"), zipped("Excel, later")
	v.step("Excel saves a new workbook in an inbox", "stored once", pc.excel(inbox, "Book.xlsx", book, false), v.becomes(inbox+"Book.xlsx", book))
	v.step("Excel saves it again", "the new one is stored; the old one is not lost", pc.excel(inbox, "Book.xlsx", later, true), v.becomes(inbox+"Book.xlsx", later))
	sum := zipped("Excel, in a folder")
	v.step("Excel saves a new workbook in a folder", "archived once", pc.excel(letters, "Sum.xlsx", sum, false), v.becomes(letters+"Sum.xlsx", sum))
	v.step("Excel saves an archived workbook again", "access is denied; the archive has the old one under its name",
		refused(pc.excel(letters, "Sum.xlsx", zipped("Excel, changed"), true), denied), v.stays)
	odt := zipped("LibreOffice")
	v.step("LibreOffice saves in a folder", "archived once; its lock file is not", pc.write(letters+".~lock.Note.odt#", ",erika,pc,27.11.2026 10:00,file:///;"),
		pc.write(letters+"lu4711abcd.tmp", odt), pc.rename(letters+"lu4711abcd.tmp", letters+"Note.odt", false), pc.remove(letters+".~lock.Note.odt#"), v.becomes(letters+"Note.odt", odt))
	v.step("An editor saves in place, twice", "the last text is stored", pc.write(inbox+"Draft.txt", "One.\n"), v.becomes(inbox+"Draft.txt", "One.\n"),
		pc.write(inbox+"Draft.txt", "Two.\n"), v.becomes(inbox+"Draft.txt", "Two.\n"))
}

// in does deeds one after the other.
func in(deeds ...deed) deed {
	return func(ctx context.Context) (string, error) {
		for _, do := range deeds {
			if _, err := do(ctx); err != nil {
				return "", err
			}
		}
		return "", nil
	}
}

// word saves as Word does: it writes a new file under a temporary name. If there is a document, it
// takes that out of the way, and removes it at the end.
func (h *hand) word(dir, name, content string, again bool) deed {
	fresh, aside := dir+"~WRD0000.tmp", dir+"~WRL0001.tmp"
	if !again {
		return in(h.create(dir+name), h.write(fresh, content), h.rename(fresh, dir+name, true))
	}
	return in(h.write(fresh, content), h.asideOr(fresh, dir+name, aside), h.rename(fresh, dir+name, false), h.remove(aside))
}

// excel saves as Excel does: its temporary names have eight digits, the first without an extension.
func (h *hand) excel(dir, name, content string, again bool) deed {
	fresh, aside := dir+"5F2B3C00", dir+"7A1E0B4D.tmp"
	if !again {
		return in(h.write(fresh, content), h.rename(fresh, dir+name, false))
	}
	return in(h.write(fresh, content), h.asideOr(fresh, dir+name, aside), h.rename(fresh, dir+name, false), h.remove(aside))
}

// asideOr takes the old document out of the way, or removes the new file where that is refused.
func (h *hand) asideOr(fresh, old, aside string) deed {
	return func(ctx context.Context) (string, error) {
		_, err := h.rename(old, aside, false)(ctx)
		if err != nil {
			_, _ = h.remove(fresh)(ctx) // err matters more
		}
		return "", err
	}
}

// local is the content of a file that has to stay on the machine.
func local(name string) string { return text("stays on this machine: "+name, 100) }

// names are names that only Windows or macOS have, and those that they do not have.
func (v *visit) names() {
	pc := v.pc
	v.chapter("Names and streams")
	for _, name := range []string{"Thumbs.db", "desktop.ini"} {
		v.step(name, "it stays on the machine", pc.write(letters+name, local(name)), pc.write(inbox+name, local(name)), pc.reads(letters+name, local(name)), v.stays)
	}
	zone := "[ZoneTransfer]\r\nZoneId=3\r\n"
	v.step("A download, with :Zone.Identifier", "the file is archived once; the stream stays on the machine, and can be read",
		pc.copyIn(letters+"Download.txt", "A download.\n"), pc.write(letters+"Download.txt:Zone.Identifier", zone),
		v.becomes(letters+"Download.txt", "A download.\n"), pc.reads(letters+"Download.txt:Zone.Identifier", zone), pc.hasStreams(letters+"Download.txt", ":Zone.Identifier:$DATA"))
	v.step("A download into an inbox", "the same", pc.copyIn(inbox+"Download.txt", "Another download.\n"), pc.write(inbox+"Download.txt:Zone.Identifier", zone),
		v.becomes(inbox+"Download.txt", "Another download.\n"), pc.reads(inbox+"Download.txt:Zone.Identifier", zone))
	v.step("A name in another case", "it is the same document", pc.reads("muster gmbh/LETTERS/old letter.TXT", v.old[letters+"Old letter.txt"]))
	v.step("A new file under the name of a document in another case", "access is denied", refused(pc.write(letters+"OLD LETTER.TXT", "Another.\n"), denied), v.stays)
	v.step("A document whose name Windows does not allow", "it is shown with other characters, and can be read",
		pc.shows(letters, []string{"a\uf022b\uf025.pdf"}), pc.reads(letters+"a\uf022b\uf025.pdf", v.old[letters+"a:b?.pdf"]))
	v.step("A new file with such a name", "the archive has the characters that were meant", pc.copyIn(letters+"Really\uf025.txt", "Really.\n"), v.becomes(letters+"Really?.txt", "Really.\n"))
	bakery, company := "Bäckerei Körner e.K\uf029", letters+"Müller & Co\uf029" // the first is of the sample
	v.step("A mandator whose name ends with a dot", "it is shown with another last character, and can be opened", pc.shows("", []string{bakery}), pc.shows(bakery, []string{"Rechnungen"}))
	v.step("A document with the name of a device", "it is shown with one character more, and can be read",
		pc.shows(letters, []string{"con\uf05f.txt"}), pc.reads(letters+"con\uf05f.txt", v.old[letters+"con.txt"]))
	v.step("A new folder whose name ends with a dot, and a new file in it with the name of a device", "the archive has the names that were meant",
		pc.newFolder(company), pc.copyIn(company+"/aux\uf05f.txt", "Really, too.\n"), v.is(letters+"Müller & Co./aux.txt", "Really, too.\n"))
	long := strings.Repeat("ä", 125) + ".txt"
	v.step("A name of 254 bytes", "archived once, with this name", pc.copyIn(letters+long, "A long name.\n"), v.becomes(letters+long, "A long name.\n"))
	v.step("A longer one", "it is refused", refused(pc.copyIn(letters+strings.Repeat("ä", 200)+".txt", "Too long.\n"), missing, "STATUS_OBJECT_NAME_INVALID", "STATUS_NAME_TOO_LONG", "STATUS_OBJECT_PATH_NOT_FOUND", denied), v.stays)
}

// hasStreams looks for streams of a file.
func (h *hand) hasStreams(path string, want ...string) deed {
	return func(ctx context.Context) (string, error) {
		var got []string
		how := windows.How{Access: windows.Attributes, Share: windows.ShareAll, Disposition: windows.OpenOnly}
		err := h.with(path, how, func(f *windows.Handle) error {
			answer, err := f.Query(windows.OfFile, 22, 0)
			got = windows.Streams(answer)
			return err
		})
		return "its streams are listed", errorsJoinMissing(err, got, want)
	}
}
