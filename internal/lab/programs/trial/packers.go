//go:build linux

package trial

import (
	"archive/zip"
	"bytes"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/programs/site"
)

// packers pack and unpack.
func packers() []*Trial {
	tree := Tree{"a/one.txt": "one\n", "a/b/two.txt": "two\n"}
	whole := Tree{"a/one.txt": "one\n", "a/two.txt": strings.Repeat("two words\n", 9000), "three.csv": string(site.Table(1))}
	const source = `
mkdir -p "$W/s/a/b" && echo one >"$W/s/a/one.txt" && echo two >"$W/s/a/b/two.txt"
`
	zipped := zipOf("one.txt", "one\n")
	read := func(p Place) bool { return p.Service == site.Bare || p.Service == site.Full && !p.graced() }
	const same = `
cat >"$W/same.py" <<'END'
import hashlib, os, sys
def tree(top):
    return {os.path.relpath(os.path.join(d, f), top): hashlib.sha256(open(os.path.join(d, f), "rb").read()).hexdigest() for d, _, fs in os.walk(top) for f in fs}
a, b = tree(sys.argv[1]), tree(sys.argv[2])
for name in sorted(a.keys() | b.keys()):
    if a.get(name) != b.get(name):
        print("other bytes:", name)
sys.exit(a != b or not a)
END
mkdir -p "$W/out"
# same compares what was unpacked to $W/out with the documents.
same() { python3 "$W/same.py" . "$W/out"; }
`
	return []*Trial{
		{Program: "tar", Does: "-x", After: tree, Script: source + `
tar -C "$W/s" -cf "$W/t.tar" a && tar -xf "$W/t.tar"
`},
		{Program: "libarchive-tools", Does: "bsdtar -x", After: tree, Script: source + `
tar -C "$W/s" -cf "$W/t.tar" a && bsdtar -xf "$W/t.tar"
`},
		{Program: "unzip", Does: "unzip", After: tree, Script: source + `
(cd "$W/s" && zip -qr "$W/t.zip" a) && unzip -q "$W/t.zip"
`},
		{Program: "p7zip", Does: "7z x", After: tree, Script: source + `
(cd "$W/s" && 7z a -bd "$W/t.7z" a >/dev/null) && 7z x -bd "$W/t.7z" >/dev/null
`},
		{
			Program: "zip", Does: "a new archive, and more into it", After: Tree{"t.zip": made, "one.txt": "one\n", "two.txt": "two\n"},
			Otherwise: Tree{"t.zip": made, "one.txt": "one\n", "two.txt": "two\n"}, Allowed: Place.graced, Script: meant + `
echo one >one.txt && echo two >two.txt
zip -q t.zip one.txt && unzip -qt t.zip && meant t.zip
may zip -q t.zip two.txt && meant t.zip
test "$OUTCOME" = refused || unzip -l t.zip | grep -q two.txt
`,
		},
		{Program: "zip", Does: "-u of an archive that is a document", Before: Tree{"t.zip": zipped}, Allowed: never, Script: meant + `
echo two >"$W/two.txt"
may zip -qj t.zip "$W/two.txt" # it removes the old one first
`},
		{Program: "p7zip", Does: "7z a, twice", After: Tree{"t.7z": made}, Otherwise: Tree{"t.7z": made}, Allowed: Place.graced, Script: meant + `
echo one >"$W/one.txt" && echo two >"$W/two.txt"
7z a -bd t.7z "$W/one.txt" >/dev/null && 7z t -bd t.7z >/dev/null && meant t.7z
more() { 7z a -bd t.7z "$W/two.txt" >/dev/null; }
may more && meant t.7z
`},
		{Program: "p7zip", Does: "7z u of an archive that is a document", Before: Tree{"t.zip": zipped}, Allowed: never, Script: `
echo two >"$W/two.txt"
more() { 7z u -bd t.zip "$W/two.txt" >/dev/null; }
may more # it removes the old one first
`},
		{Program: "libarchive-tools", Does: "bsdtar -c to the archive", After: Tree{"t.tar": made}, Script: meant + `
echo one >"$W/one.txt"
bsdtar -cf t.tar -C "$W" one.txt && meant t.tar && tar -tf t.tar | grep -q one.txt
`},
		{Program: "libarchive-tools", Does: "bsdtar -c of documents that nobody has read", On: read, Before: whole, Script: same + `
bsdtar -cf "$W/t.tar" . && tar -C "$W/out" -xf "$W/t.tar" && same
`},
		{Program: "libarchive-tools", Does: "bsdcpio -o of documents that nobody has read", On: read, Before: whole, Script: same + `
find . -depth | bsdcpio -o --quiet >"$W/t.cpio" && (cd "$W/out" && bsdcpio -id --quiet <"$W/t.cpio") && same
`},
		{Program: "python3", Does: "tarfile of documents that nobody has read", On: read, Before: whole, Script: same + `
python3 -c 'import sys, tarfile; t = tarfile.open(sys.argv[1], "w"); t.add("."); t.close()' "$W/t.tar"
tar -C "$W/out" -xf "$W/t.tar" && same
`},
		{Program: "tar", Does: "-c of documents that nobody has read", On: read, Before: whole, Script: same + `
tar -cf "$W/t.tar" . && tar -C "$W/out" -xf "$W/t.tar" && same
`},
		{Program: "tar", Does: "--sparse -c of documents that nobody has read", On: read, Before: whole, Script: same + `
tar -cSf "$W/t.tar" . && tar -C "$W/out" -xf "$W/t.tar" && same
`},
		{Program: "zip", Does: "-r of documents that nobody has read", On: read, Before: whole, Script: same + `
zip -qr "$W/t.zip" . && unzip -q "$W/t.zip" -d "$W/out" && same
`},
		{Program: "p7zip", Does: "7z a of documents that nobody has read", On: read, Before: whole, Script: same + `
7z a -bd "$W/t.7z" . >/dev/null && 7z x -bd -o"$W/out" "$W/t.7z" >/dev/null && same
`},
		{Program: "rsync", Does: "-a out of the archive", On: read, Before: whole, Script: same + `
rsync -a ./ "$W/out/" && same
`},
		{Program: "cp", Does: "-r out of the archive", On: read, Before: whole, Script: same + `
cp -r --sparse=always . "$W/out/" && same
`},
		{Program: "gio", Does: "copy out of the archive", On: read, Before: whole, Script: same + `
mkdir "$W/out/a" && gio copy three.csv "$W/out/" && gio copy a/one.txt a/two.txt "$W/out/a/" && same
`},
	}
}

// zipOf is a ZIP with one file.
func zipOf(name, text string) string {
	var b bytes.Buffer // which takes everything
	z := zip.NewWriter(&b)
	w, _ := z.Create(name)
	_, _ = w.Write([]byte(text))
	_ = z.Close()
	return b.String()
}
