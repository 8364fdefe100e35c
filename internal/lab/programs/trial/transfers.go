//go:build linux

package trial

import "github.com/archivefs/archivefs/internal/lab/programs/site"

// transfers are the programs that bring files from elsewhere, and are interrupted.
func transfers() []*Trial {
	big := Tree{"big.csv": string(site.Table(8))}
	tree := Tree{"a/one.txt": "one\n", "a/b/two.txt": "two\n", "three.txt": "three\n"}
	const made = `
mkdir -p "$W/s/a/b" && echo one >"$W/s/a/one.txt" && echo two >"$W/s/a/b/two.txt" && echo three >"$W/s/three.txt"
`
	const large = `
mkdir -p "$W/s" && big 8 >"$W/s/big.csv"
# stopped runs a program and types Ctrl-C when it has written a megabyte.
stopped() { ! drive "$@" -- 'until:test -n "$(find . -type f -size +1M)"' 'type:^C'; }
`
	return []*Trial{
		{Program: "rsync", Does: "-a of a tree, twice: the second run sends nothing", After: tree, Script: made + `
rsync -a "$W/s/" ./
settle
again=$(rsync -ai "$W/s/" ./ | grep '^[<>c]' || true)
test -z "$again" || { echo "again: $again"; exit 1; }
`},
		{Program: "rsync", Does: "--delay-updates, twice", After: tree, Script: made + `
rsync -a --delay-updates "$W/s/" ./
settle
rsync -a --delay-updates "$W/s/" ./
`},
		{Program: "rsync", Does: "-a, Ctrl-C", After: nothing, Fails: true, Script: large + `
stopped rsync -a --bwlimit=2000 "$W/s/" ./
`},
		{Program: "rsync", Does: "-aP, Ctrl-C", After: nothing, Fails: true, Script: large + `
stopped rsync -aP --bwlimit=2000 "$W/s/" ./
`},
		{Program: "rsync", Does: "-aP, Ctrl-C, and again", After: big, Fails: true, Script: large + `
stopped rsync -aP --bwlimit=2000 "$W/s/" ./
rsync -aP "$W/s/" ./
`},
		{Program: "rsync", Does: "--inplace, Ctrl-C", After: nothing, Fails: true, Script: large + `
stopped rsync -a --inplace --bwlimit=2000 "$W/s/" ./
`},
		{Program: "rsync", Does: "--inplace, Ctrl-C, and again", After: big, Fails: true, Script: large + `
stopped rsync -a --inplace --bwlimit=2000 "$W/s/" ./
rsync -a --inplace "$W/s/" ./
`},
		{Program: "rsync", Does: "--partial-dir, Ctrl-C", After: nothing, Fails: true, Script: large + `
stopped rsync -a --partial-dir=.rsync-partial --bwlimit=2000 "$W/s/" ./
`},
		{Program: "rsync", Does: "--partial-dir, Ctrl-C, and again", After: big, Fails: true, Script: large + `
stopped rsync -a --partial-dir=.rsync-partial --bwlimit=2000 "$W/s/" ./
rsync -a --partial-dir=.rsync-partial "$W/s/" ./
`},
		{Program: "rsync", Does: "-a of a changed file over a document", Before: letter, After: Tree{"letter.txt": "a longer letter\n"}, Allowed: Place.changeable, Script: `
mkdir -p "$W/s" && echo a longer letter >"$W/s/letter.txt"
may rsync -a "$W/s/" ./
`},
		{Program: "unison", Does: "a new directory and a new file", After: tree, Script: made + `
chmod -R go= "$W/s"
unison -batch -auto -ui text "$W/s" "$PWD"
`},
		{
			Program: "unison", Does: "a new directory that others can read", After: tree,
			Limit: "the mount keeps no permissions, and Unison insists on them: it needs -perms 0, as on FAT", Script: made + `
chmod -R a+rX "$W/s" && chmod go= "$W/s"
unison -batch -auto -ui text "$W/s" "$PWD"
`,
		},
		{Program: "unison", Does: "the same with -perms 0", After: tree, Script: made + `
chmod -R a+rX "$W/s"
unison -batch -auto -ui text -perms 0 -dontchmod "$W/s" "$PWD"
`},
		{Program: "unison", Does: "a changed file over a document", Before: letter, After: Tree{"letter.txt": "a longer letter\n"}, Allowed: Place.changeable, Script: `
mkdir -p "$W/s" && chmod go= "$W/s"
unison -batch -auto -ui text "$W/s" "$PWD"
echo a longer letter >"$W/s/letter.txt"
may unison -batch -auto -ui text "$W/s" "$PWD"
`},
		{Program: "lftp", Does: "get", After: letter, Script: `
lftp -c "get $HTTP/letter.txt"
`},
		{Program: "lftp", Does: "get with xfer:use-temp-file", After: letter, Script: `
lftp -c "set xfer:use-temp-file yes; get $HTTP/letter.txt"
`},
		{Program: "lftp", Does: "pget -n 3", After: big, Script: `
lftp -c "set pget:min-chunk-size 1M; pget -n 3 $HTTP/big.csv"
`},
		{Program: "lftp", Does: "pget -n 3, Ctrl-C", After: nothing, Fails: true, Script: large + `
stopped lftp -c "set pget:min-chunk-size 1M; set pget:save-status 0.2s; pget -n 3 $HTTP/slow/big.csv"
`},
		{Program: "lftp", Does: "mirror", After: Tree{"a.txt": "one\n", "b/c.txt": "two\n"}, Script: `
lftp -c "mirror $HTTP/tree/ ."
`},
		{Program: "aria2", Does: "-x4 -s4", After: big, Script: `
aria2c -q -x4 -s4 -k1M "$HTTP/big.csv"
`},
		{Program: "aria2", Does: "-x4 -s4, Ctrl-C", After: nothing, Fails: true, Script: large + `
stopped aria2c -x4 -s4 -k1M "$HTTP/slow/big.csv"
`},
		{Program: "aria2", Does: "-x4 -s4, Ctrl-C, and again with -c", After: big, Fails: true, Script: large + `
stopped aria2c -x4 -s4 -k1M "$HTTP/slow/big.csv"
aria2c -q -c -x4 -s4 -k1M "$HTTP/big.csv"
`},
		{Program: "wget", Does: "wget URL", After: letter, Script: `
wget -q "$HTTP/letter.txt"
`},
		{Program: "wget", Does: "Ctrl-C", After: nothing, Fails: true, Script: large + `
stopped wget -q "$HTTP/slow/big.csv"
`},
		{Program: "wget", Does: "Ctrl-C, and again with -c", After: big, Fails: true, Script: large + `
stopped wget -q "$HTTP/slow/big.csv"
wget -q -c "$HTTP/big.csv"
`},
		{Program: "curl", Does: "-o", After: letter, Script: `
curl -s -o letter.txt "$HTTP/letter.txt"
`},
		{Program: "curl", Does: "-o, Ctrl-C", After: nothing, Fails: true, Script: large + `
stopped curl -s -o big.csv "$HTTP/slow/big.csv"
`},
		{Program: "curl", Does: "-OR of a file with its date, and -C - of what is complete", After: letter, Script: `
curl -s -OR "$HTTP/letter.txt"
settle
curl -s -C - -O "$HTTP/letter.txt" || test $? -eq 33 || true
`},
		{Program: "git", Does: "init and clone are refused", After: nothing, Otherwise: Tree{"r/": ""}, Allowed: Place.graced, Script: `
git init -q "$W/r" && (cd "$W/r" && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x)
refused git init -q .
refused git clone -q "$W/r" r
`},
		{Program: "subversion", Does: "checkout is refused", After: nothing, Script: `
svnadmin create "$W/r"
refused svn checkout -q "file://$W/r" .
`},
	}
}
