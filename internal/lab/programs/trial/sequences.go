//go:build linux

package trial

// sequences are programs that Debian does not have, imitated by the calls that were published.
func sequences() []*Trial {
	const (
		word     = "Microsoft KB 211632 and 102888"
		excel    = "Microsoft KB 814068 and 113600"
		autocad  = "Autodesk, \"AutoCAD file save process\"; nuxeo/nuxeo-drive#264"
		wordMac  = "Netatalk/netatalk#357 (log); macfuse/macfuse#485"
		textEdit = "Scille/parsec-cloud#2211; lionheart/openradar-mirror#13874"
		finder   = "upspin/upspin#565"
		sync     = "syncthing/syncthing#2208 (TempName)"
		ghosts   = "nextcloud/desktop, sync-exclude.lst"
	)
	written := Tree{"letter.docx": "new\n"}
	old := Tree{"letter.docx": "old\n"}
	return []*Trial{
		{Program: "Word (Windows)", Does: "saves a new document: lock file, ~WRD, rename", Source: word, After: written, Script: `
printf 'user' >'~$letter.docx'
echo new >'~WRD0001.tmp'
mv -T '~WRD0001.tmp' letter.docx
rm '~$letter.docx'
`},
		{Program: "Word (Windows)", Does: "saves over a document: ~WRD, the old one to ~WRL, rename, remove", Source: word, Before: old, After: written, Allowed: Place.changeable, Script: `
printf 'user' >'~$letter.docx'
echo new >'~WRD0001.tmp'
save() { mv -T letter.docx '~WRL0001.tmp' && mv -T '~WRD0001.tmp' letter.docx && rm '~WRL0001.tmp'; }
may save
rm -f '~WRD0001.tmp' '~$letter.docx'
`},
		{Program: "Excel (Windows)", Does: "saves over a workbook: eight digits, remove, rename", Source: excel, Before: Tree{"book.xlsx": "old\n"}, After: Tree{"book.xlsx": "new\n"}, Allowed: Place.changeable, Script: `
echo new >CEDD4100
save() { mv -T book.xlsx CEDD4101.tmp && mv -T CEDD4100 book.xlsx && rm CEDD4101.tmp; }
may save
rm -f CEDD4100
`},
		{Program: "Excel (Windows)", Does: "saves twice what is new", Source: excel, After: Tree{"book.xlsx": "new\n"}, Otherwise: Tree{"book.xlsx": "old\n"}, Allowed: Place.young, Script: `
echo old >book.xlsx
echo new >CEDD4100
save() { mv -T book.xlsx CEDD4101.tmp && mv -T CEDD4100 book.xlsx && rm CEDD4101.tmp; }
may save
rm -f CEDD4100
`},
		{Program: "Word (Mac)", Does: "saves a new document in a directory of its own", Source: wordMac, After: written, Script: `
mkdir letter.docx.sb-aee4c48c-Bw9EqD
echo new >letter.docx.sb-aee4c48c-Bw9EqD/.~WRD0005
mv -T letter.docx.sb-aee4c48c-Bw9EqD/.~WRD0005 letter.docx.sb-aee4c48c-Bw9EqD/letter.docx
mv -T letter.docx.sb-aee4c48c-Bw9EqD/letter.docx letter.docx
rmdir letter.docx.sb-aee4c48c-Bw9EqD
`},
		{Program: "Word (Mac)", Does: "saves over a document, and leaves the directory until it ends", Source: wordMac, Before: old, After: written, Allowed: Place.changeable, Script: `
mkdir letter.docx.sb-aee4c48c-Bw9EqD
echo new >letter.docx.sb-aee4c48c-Bw9EqD/letter.docx
may mv -T letter.docx.sb-aee4c48c-Bw9EqD/letter.docx letter.docx
`},
		{Program: "TextEdit", Does: "saves over a document in a directory of its own", Source: textEdit, Before: old, After: written, Allowed: Place.changeable, Script: `
mkdir letter.docx.sb-6d6ce842-tI5oYC
echo new >letter.docx.sb-6d6ce842-tI5oYC/letter.docx
printf x >letter.docx.sb-6d6ce842-tI5oYC/._letter.docx
may mv -T letter.docx.sb-6d6ce842-tI5oYC/letter.docx letter.docx
rm -f letter.docx.sb-6d6ce842-tI5oYC/._letter.docx letter.docx.sb-6d6ce842-tI5oYC/letter.docx
rmdir letter.docx.sb-6d6ce842-tI5oYC
`},
		{Program: "Preview", Does: "saves in (A Document Being Saved By Preview), and .TemporaryItems", Source: textEdit, After: written, Script: `
mkdir -p '.TemporaryItems/folders.501/(A Document Being Saved By Preview)'
echo new >'.TemporaryItems/folders.501/(A Document Being Saved By Preview)/letter.docx'
mv -T '.TemporaryItems/folders.501/(A Document Being Saved By Preview)/letter.docx' letter.docx
rmdir '.TemporaryItems/folders.501/(A Document Being Saved By Preview)'
mkdir '(A Document Being Saved By Preview 2)'
rmdir '(A Document Being Saved By Preview 2)'
`},
		{
			Program: "Finder", Does: "untitled folder, its name, a copy with ._ and .DS_Store", Source: finder, After: Tree{"Reminders/letter.docx": "new\n"},
			Otherwise: Tree{"untitled folder/letter.docx": "new\n"}, Allowed: Place.graced, Script: `
mkdir 'untitled folder'
printf x >.DS_Store
name='untitled folder'
may mv -T 'untitled folder' Reminders
test "$OUTCOME" = refused || name=Reminders
printf x >"$name/._letter.docx"
echo new >"$name/letter.docx"
`,
		},
		{Program: "Safari", Does: "downloads into NAME.download/", Source: "iterate-ch/docs#360", After: written, Script: `
mkdir letter.docx.download
echo new >letter.docx.download/letter.docx
printf x >letter.docx.download/Info.plist
mv -T letter.docx.download/letter.docx letter.docx
rm letter.docx.download/Info.plist && rmdir letter.docx.download
`},
		{Program: "AutoCAD", Does: "first save: lock files, atmp, rename", Source: autocad, After: Tree{"plan.dwg": "new\n"}, Script: `
printf 'user' >plan.dwl && printf '<user/>' >plan.dwl2
echo new >atmp1234
mv -T atmp1234 plan.dwg
rm plan.dwl plan.dwl2
`},
		{Program: "AutoCAD", Does: "crashes after an autosave", Source: autocad, Before: Tree{"plan.dwg": "old\n"}, Script: `
printf 'user' >plan.dwl && printf '<user/>' >plan.dwl2
echo half >plan_1_1_1234.sv\$
`},
		{Program: "InDesign", Does: "lock file beside a document", Source: "iterate-ch/docs#360", After: Tree{"page.indd": "new\n"}, Script: `
printf 'user' >'~page~abcdef.idlk'
echo new >page.indd
rm '~page~abcdef.idlk'
`},
		{Program: "Access", Does: "lock file of a database", Source: "nextcloud/desktop, sync-exclude.lst", After: Tree{"base.accdb": "new\n"}, Script: `
printf 'user' >base.laccdb
echo new >base.accdb
rm base.laccdb
`},
		{Program: "Syncthing", Does: "its marker, a temporary name, rename", Source: sync, After: written, Script: `
mkdir .stfolder
echo new >.syncthing.letter.docx.tmp
mv -T .syncthing.letter.docx.tmp letter.docx
`},
		{Program: "Syncthing", Does: "is interrupted; long names", Source: sync, After: nothing, Script: `
mkdir .stversions
echo half >.syncthing.letter.docx.tmp
echo half >'~syncthing~letter.docx.tmp'
echo half >.syncthing.0123456789abcdef0123456789abcdef.tmp
`},
		{Program: "Nextcloud client", Does: "downloads to .NAME.~hex and renames", Source: ghosts, After: written, Script: `
echo new >'.letter.docx.~3f2a1b0c'
mv -T '.letter.docx.~3f2a1b0c' letter.docx
`},
		{Program: "rclone", Does: "--partial-suffix: NAME.hex.partial, rename", Source: "rclone, docs: --partial-suffix", After: written, Script: `
echo new >letter.docx.1a2b3c4d.partial
mv -T letter.docx.1a2b3c4d.partial letter.docx
`},
		{Program: "WinSCP", Does: "NAME.filepart, interrupted, and again", Source: "jonaswinkler/paperless-ng#462", After: written, Script: `
echo half >letter.docx.filepart
echo new >letter.docx.filepart
mv -T letter.docx.filepart letter.docx
`},
		{Program: "Firefox", Does: "empty file, NAME.part, rename", Source: "docs/desktop", After: written, Script: `
: >letter.docx
echo new >letter.a1B2c3D4.docx.part
mv -T letter.a1B2c3D4.docx.part letter.docx
`},
		{Program: "Chromium", Does: "hidden file, NAME.crdownload, rename", Source: "docs/desktop", After: written, Script: `
: >.org.chromium.Chromium.aB3xYz
echo new >letter.docx.crdownload
rm .org.chromium.Chromium.aB3xYz
mv -T letter.docx.crdownload letter.docx
`},
		{Program: "Kate", Does: "swap file beside what is saved", Source: "KDE, ktexteditor: swapfile.cpp", After: letter, Script: `
printf x >.letter.txt.kate-swp
python3 -c 'import os
d = os.open("letter.txt.Ab3dEf", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600); os.write(d, b"Dear Sir\n"); os.fsync(d); os.close(d)
os.rename("letter.txt.Ab3dEf", "letter.txt")'
rm .letter.txt.kate-swp
`},
	}
}
