//go:build linux

package trial

import "strings"

// reports are public reports about other mounts and clients, tried here.
func reports() []*Trial {
	pdf := pdfOf("Dear Sir")
	all := []*Trial{
		{
			Program: "qpdf", Does: "--replace-input of a document: NAME.~qpdf-temp#, NAME.~qpdf-orig#, two renames", Source: "qpdf/qpdf#1773, #1559",
			Before: Tree{"letter.pdf": pdf}, After: Tree{"letter.pdf": made}, Allowed: Place.changeable, Script: meant + `
may qpdf --linearize --replace-input letter.pdf
test "$OUTCOME" = refused || { qpdf --check letter.pdf >/dev/null && meant letter.pdf; }
`,
		},
		{
			Program: "qpdf", Does: "--replace-input of what was just copied", Source: "qpdf/qpdf#1773, #1559",
			After: Tree{"letter.pdf": made}, Otherwise: Tree{"letter.pdf": pdf}, Allowed: Place.young, Script: meant + `
printf '%s' "$PDF" | base64 -d >letter.pdf
may qpdf --linearize --replace-input letter.pdf
test "$OUTCOME" = refused || { qpdf --check letter.pdf >/dev/null && meant letter.pdf; }
`,
		},
		{
			Program: "exiftool", Does: "changes a document: NAME_exiftool_tmp, and NAME_original stays", Source: "Webreaper/Damselfly#87",
			Before: Tree{"letter.pdf": pdf}, After: Tree{"letter.pdf": made}, Allowed: Place.changeable, Script: meant + `
may exiftool -q -overwrite_original -Title=Letter letter.pdf
test "$OUTCOME" = refused || meant letter.pdf
`,
		},
		{
			Program: "ImageMagick", Does: "mogrify of a document: renamed aside to NAME~, written anew", Source: "ImageMagick/ImageMagick#8939, #5952",
			Before: Tree{"photo.pgm": "P5 2 2 255\n0123"}, After: Tree{"photo.pgm": made}, Allowed: Place.changeable, Script: meant + `
may mogrify -negate photo.pgm
test "$OUTCOME" = refused || meant photo.pgm
`,
		},
		{
			Program: "KeePassXC", Does: "saves through the document portal: .xdp-NAME.XXXXXX-XXXXXX, rename", Source: "keepassxreboot/keepassxc#12355",
			Before: Tree{"keys.kdbx": "old\n"}, After: Tree{"keys.kdbx": "new\n"}, Allowed: Place.changeable, Script: `
echo new >.xdp-keys.kdbx.PphzRP-BErgPX
may mv -T .xdp-keys.kdbx.PphzRP-BErgPX keys.kdbx
rm -f .xdp-keys.kdbx.PphzRP-BErgPX
`,
		},
		{
			Program: "opustags", Does: "renames over a document that it still has open", Source: "fmang/opustags#62",
			Before: letter, After: changed, Allowed: Place.changeable, Script: `
save() { python3 -c 'import os
f = open("letter.txt"); text = f.read()
d = os.open("letter.txt.Ab3dEf", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
os.write(d, b"new " + text.encode()); os.close(d)
os.rename("letter.txt.Ab3dEf", "letter.txt"); f.close()'; }
may save
`,
		},
		{Program: "node", Does: "copies by copy_file_range, chmod, chown and utimes", Source: "DialmasterOrg/Youtarr#693", After: letter, Script: `
printf 'Dear Sir\n' >"$W/letter.txt"
python3 -c 'import os, sys
a = os.open(sys.argv[1], os.O_RDONLY); b = os.open("letter.txt", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
try:
    while os.copy_file_range(a, b, 4096): pass
except OSError as e:
    os.sendfile(b, a, 0, 4096)
os.fchmod(b, 0o640); os.close(b)
os.chown("letter.txt", os.getuid(), os.getgid()); os.utime("letter.txt", (1e9, 1e9))' "$W/letter.txt"
`},
		{Program: "rsync", Does: "an empty file, and one that gets its bytes later", Source: "rclone/rclone#1598", After: letter, Script: `
mkdir -p "$W/s" && : >"$W/s/empty.txt" && : >"$W/s/letter.txt"
rsync -a "$W/s/" ./
test -e empty.txt
printf 'Dear Sir\n' >"$W/s/letter.txt"
rsync -a "$W/s/" ./
`},
		{Program: "glibc", Does: "O_TMPFILE is refused at once, and programs do without", Source: "juicedata/juicefs#6461, NixOS/nix#14832", After: letter, Script: `
python3 -c 'import errno, os, sys, tempfile
try:
    os.close(os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)); sys.exit("it was opened")
except OSError as e:
    if e.errno not in (errno.EOPNOTSUPP, errno.EISDIR): raise
with tempfile.TemporaryFile(dir=".") as f:
    f.write(b"half a thought"); f.seek(0); f.read()'
printf 'Dear Sir\n' >letter.txt
`},
		{Program: "CotEditor", Does: "a directory NAME.sb- that a save left does not hinder the next one", Source: "coteditor/CotEditor#2125", After: letter, Script: `
mkdir letter.txt.sb-98006a1b-AbCdEf && echo half >letter.txt.sb-98006a1b-AbCdEf/letter.txt
mkdir letter.txt.sb-98006a1c-GhIjKl && printf 'Dear Sir\n' >letter.txt.sb-98006a1c-GhIjKl/letter.txt
mv -T letter.txt.sb-98006a1c-GhIjKl/letter.txt letter.txt
rmdir letter.txt.sb-98006a1c-GhIjKl
rm letter.txt.sb-98006a1b-AbCdEf/letter.txt && rmdir letter.txt.sb-98006a1b-AbCdEf
`},
		{Program: "Ionic.Zip", Does: "NAME.tmp, renamed to NAME.zip, is sent", Source: "FTPbox/FTPbox#52", After: Tree{"letters.zip": "PK not really"}, Script: `
printf 'PK not really' >DotNetZip-k2x4yq1z.tmp
mv -T DotNetZip-k2x4yq1z.tmp letters.zip
`},
		{
			Program: "yt-dlp", Does: "parts with ordinary names are put together and removed", Source: "meeb/tubesync#218", After: Tree{"film.mkv": "film and sound\n"},
			Otherwise: Tree{"film.mkv": "film and sound\n", "film.f137.mp4": "film\n", "film.f140.m4a": "sound\n"}, Allowed: Place.graced, Script: `
echo film >film.f137.mp4.part && mv -T film.f137.mp4.part film.f137.mp4
echo sound >film.f140.m4a.part && mv -T film.f140.m4a.part film.f140.m4a
echo film and sound >film.temp.mkv
if [ "$OUTCOME" = done ] || [ "$SERVICE" = full ]; then mv -T film.temp.mkv film.mkv; else mv -T film.temp.mkv film.mkv || echo film and sound >film.mkv; fi
may rm film.f137.mp4 film.f140.m4a
`, Passing: []string{"film.temp.mkv"},
			Limit: "a service that renames nothing keeps the name under which a part was put together", LimitAt: Place.unnamed,
		},
		{Program: "duplicacy", Does: "NAME.tmp, fsync, close, rename", Source: "gilbertchen/duplicacy#550", After: Tree{"chunk": "chunk\n"}, Script: `
python3 -c 'import os
d = os.open("chunk.xbvzmqrk.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
os.write(d, b"chunk\n"); os.fsync(d); os.close(d); os.rename("chunk.xbvzmqrk.tmp", "chunk")'
`},
		{Program: "OpenXLSX", Does: "removes the old one, renames the new one", Source: "troldal/OpenXLSX#403", After: Tree{"book.xlsx": "new\n"}, Otherwise: Tree{"book.xlsx": "old\n"}, Allowed: Place.graced, Script: `
echo old >book.xlsx
save() { rm book.xlsx && echo new >book.xlsx.k3Jx9Qz && mv -T book.xlsx.k3Jx9Qz book.xlsx; }
may save
`},
		{
			Program: "HFS", Does: "hfs$upload-NAME is renamed while another program reads it", Source: "rejetto/hfs#457", After: letter,
			Limit: "without grace a name that no table has is sent at once", LimitAt: Place.graceless, Script: `
printf 'Dear Sir\n' >'hfs$upload-letter.txt'
exec 9<'hfs$upload-letter.txt'
mv -T 'hfs$upload-letter.txt' letter.txt
exec 9<&-
`,
		},
	}
	for _, t := range all {
		t.Report = true
		t.Script = "\nPDF=" + encode(pdf) + t.Script
	}
	return all
}

// pdfOf is a PDF of one page.
func pdfOf(text string) string {
	var b strings.Builder
	var at []int
	object := func(s string) {
		at = append(at, b.Len())
		b.WriteString(s)
	}
	b.WriteString("%PDF-1.4\n")
	stream := "BT /F1 24 Tf 72 720 Td (" + text + ") Tj ET"
	object("1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n")
	object("2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n")
	object("3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>\nendobj\n")
	object("4 0 obj\n<< /Length " + itoa(len(stream)) + " >>\nstream\n" + stream + "\nendstream\nendobj\n")
	object("5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\n")
	table := b.Len()
	b.WriteString("xref\n0 6\n0000000000 65535 f \n")
	for _, n := range at {
		b.WriteString(strings.Repeat("0", 10-len(itoa(n))) + itoa(n) + " 00000 n \n")
	}
	b.WriteString("trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n" + itoa(table) + "\n%%EOF\n")
	return b.String()
}
