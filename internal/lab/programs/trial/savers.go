//go:build linux

package trial

// savers are the libraries that programs save with: to a temporary name, and a rename over the old one.
func savers() []*Trial {
	const (
		glib = `/usr/bin/python3 -c 'from gi.repository import GLib; GLib.file_set_contents("letter.txt", b"'"$1"'\n")'`
		qt   = `/usr/bin/python3 -c 'import sys
from PyQt5.QtCore import QSaveFile, QIODevice
f = QSaveFile("letter.txt")
ok = f.open(QIODevice.WriteOnly) and f.write(sys.argv[1].encode() + b"\n") > 0 and f.commit()
sys.exit(not ok)' "$1"`
		python = `python3 -c 'import os, sys, tempfile
f = tempfile.NamedTemporaryFile("w", dir=".", delete=False)
f.write(sys.argv[1] + "\n"); f.flush(); os.fsync(f.fileno()); f.close()
os.replace(f.name, "letter.txt")' "$1"`
		suffix = `python3 -c 'import os, sys, tempfile
d, name = tempfile.mkstemp(prefix=".letter.txt-", suffix=".tmp", dir=".")
os.write(d, sys.argv[1].encode() + b"\n"); os.close(d)
os.replace(name, "letter.txt")' "$1"`
		gio = `printf '%s\n' "$1" | gio save letter.txt`
		sed = `{ test -e letter.txt || printf 'x\n' >letter.txt; } && sed -i "s/.*/$1/" letter.txt`
	)
	var all []*Trial
	for _, p := range []struct{ name, does, line string }{
		{"python3-gi", "GLib.file_set_contents", glib},
		{"python3-pyqt5", "QSaveFile", qt},
		{"python3", "tempfile and os.replace", python},
		{"python3", "mkstemp(\".NAME-\", \".tmp\") and os.replace", suffix},
		{"gio", "gio save", gio},
	} {
		save := "\nsave() { " + p.line + "; }\n"
		all = append(all,
			&Trial{Program: p.name, Does: p.does + ": new", After: letter, Script: save + "save 'Dear Sir'\n"},
			&Trial{
				Program: p.name, Does: p.does + ": twice", After: changed, Otherwise: letter, Allowed: Place.young,
				Script: save + "save 'Dear Sir'\nmay save 'new Dear Sir'\n",
			},
			&Trial{
				Program: p.name, Does: p.does + " over a document", Before: letter, After: changed, Allowed: Place.changeable,
				Script: save + "may save 'new Dear Sir'\n",
			})
	}
	return append(all,
		&Trial{Program: "sed", Does: "sed -i of a document", Before: letter, After: changed, Allowed: Place.changeable, Script: `
may sed -i 's/^/new /' letter.txt
`},
		&Trial{Program: "sed", Does: "sed -i of what was just written", After: changed, Otherwise: letter, Allowed: Place.young, Script: `
echo Dear Sir >letter.txt
may sed -i 's/^/new /' letter.txt
`},
		&Trial{Program: "tee", Does: "tee -a to a document", Before: letter, After: Tree{"letter.txt": draft + "more\n"}, Allowed: Place.changeable, Script: `
add() { echo more | tee -a letter.txt; }
may add
`},
		&Trial{Program: "bash", Does: "> and >> in a loop", After: Tree{"letter.txt": "1\n2\n3\n"}, Otherwise: Tree{"letter.txt": "1\n"}, Allowed: Place.young, Script: `
log() { echo 1 >letter.txt && echo 2 >>letter.txt && echo 3 >>letter.txt; }
may log
`},
	)
}
