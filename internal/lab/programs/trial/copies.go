//go:build linux

package trial

// copies are the commands that everybody has.
func copies() []*Trial {
	tree := Tree{"new/a/one.txt": "one\n", "new/two.txt": "two\n"}
	const source = `
mkdir -p "$W/s/a" && echo one >"$W/s/a/one.txt" && echo two >"$W/s/two.txt" && printf 'Dear Sir\n' >"$W/letter.txt"
`
	one := func(program, does, line string) *Trial {
		return &Trial{Program: program, Does: does, After: letter, Script: source + line + "\n"}
	}
	return []*Trial{
		one("cp", "a file", `cp "$W/letter.txt" .`),
		one("cp", "-p of a file of 2019, and -u again", `touch -d 2019-05-05 "$W/letter.txt" && cp -p "$W/letter.txt" . && settle && cp -pu "$W/letter.txt" .`),
		one("cp", "--reflink=auto", `cp --reflink=auto "$W/letter.txt" .`),
		one("cp", "--sparse=always", `cp --sparse=always "$W/letter.txt" .`),
		one("cp", "--reflink=always is refused", `refused cp --reflink=always "$W/letter.txt" . && cp "$W/letter.txt" .`),
		one("install", "-m 644", `install -m 644 "$W/letter.txt" letter.txt`),
		one("mv", "from another file system", `mv "$W/letter.txt" .`),
		one("touch", "and write later", `touch letter.txt && sleep 0.2 && cp "$W/letter.txt" letter.txt`),
		one("tee", "new file", `tee letter.txt <"$W/letter.txt" >/dev/null`),
		one("dd", "new file", `dd if="$W/letter.txt" of=letter.txt bs=4 status=none`),
		{Program: "dd", Does: "conv=notrunc over the beginning of what was just written", After: letter, Otherwise: Tree{"letter.txt": "xxxx Sir\n"}, Allowed: Place.young, Script: `
printf 'xxxx Sir\n' | dd of=letter.txt status=none
begin() { printf 'Dear' | dd of=letter.txt conv=notrunc status=none; }
may begin
`},
		one("tar", "-x over what was just unpacked", `tar -C "$W" -cf "$W/t.tar" letter.txt && tar -xf "$W/t.tar" && { tar --skip-old-files -xf "$W/t.tar"; }`),
		{Program: "cp", Does: "-r of a tree", After: tree, Script: source + `
cp -r "$W/s" new
`},
		{Program: "cp", Does: "-r of a tree, then the folder is renamed", After: tree, Otherwise: Tree{"draft/a/one.txt": "one\n", "draft/two.txt": "two\n"}, Allowed: Place.graced, Script: source + `
cp -r "$W/s" draft
may mv -T draft new
`},
		{Program: "mkdir", Does: "a typo, rmdir, and again", After: tree, Otherwise: Tree{"nwe/": "", "new/a/one.txt": "one\n", "new/two.txt": "two\n"}, Allowed: Place.graced, Script: source + `
mkdir nwe
may rmdir nwe
cp -r "$W/s" new
`},
		{
			Program: "mkdir", Does: "New folder, and then its name, with a file in it", After: Tree{"Reminders/letter.txt": draft},
			Otherwise: Tree{"New folder/": "", "Reminders/letter.txt": draft}, Allowed: Place.graced, Script: source + `
mkdir 'New folder'
may mv -T 'New folder' Reminders || true
mkdir -p Reminders
cp "$W/letter.txt" Reminders/
`,
		},
		{Program: "mkdir", Does: "an empty folder that stays", After: Tree{"empty/": ""}, Script: `
mkdir empty
settle
test -d empty
`},
		{
			Program: "mv", Does: "what was just copied, to a better name", After: letter, Otherwise: Tree{"lettre.txt": draft}, Passing: []string{"lettre.txt"},
			Allowed: func(p Place) bool { return !p.unnamed() }, Script: source + `
cp "$W/letter.txt" lettre.txt
may mv lettre.txt letter.txt
`,
		},
		{Program: "rm", Does: "what was just copied by mistake", After: letter, Otherwise: Tree{"letter.txt": draft, "wrong.txt": draft}, Allowed: Place.graced, Script: source + `
cp "$W/letter.txt" wrong.txt
may rm wrong.txt
cp "$W/letter.txt" .
`},
		{Program: "mv", Does: "between two new folders", After: Tree{"b/letter.txt": draft, "a/": ""}, Otherwise: Tree{"a/letter.txt": draft, "b/": ""}, Allowed: Place.graced, Script: source + `
mkdir a b && cp "$W/letter.txt" a/
may mv a/letter.txt b/
`},
		{Program: "gio", Does: "copy", After: letter, Script: source + `
gio copy "$W/letter.txt" letter.txt
`},
		{Program: "gio", Does: "move from another file system", After: letter, Script: source + `
gio move "$W/letter.txt" letter.txt
`},
		{Program: "gio", Does: "mkdir, and rename", After: Tree{"Reminders/": ""}, Otherwise: Tree{"New folder/": ""}, Allowed: Place.graced, Script: `
gio mkdir 'New folder'
may gio rename 'New folder' Reminders
`},
		{Program: "mc", Does: "F5 of a tree, from the other panel", After: Tree{"s/a/one.txt": "one\n", "s/two.txt": "two\n"}, Script: source + `
mkdir "$W/left" && mv "$W/s" "$W/left/s"
drive mc -x -d -a "$W/left" "$PWD" -- 'see:/s ' 'type:^[[B' 'type:^[[[E' 'see:Copy directory' 'type:^M' 'until:test -s s/two.txt -a -s s/a/one.txt' 'leave:^[[21~'
`},
		{Program: "coreutils", Does: "a length is announced, the end is never written", After: nothing, Fails: true, Script: `
python3 -c 'import os
f = os.open("x.csv", os.O_CREAT | os.O_WRONLY)
os.ftruncate(f, 8000000); os.write(f, b"a;b\n" * 1000); os.close(f)' || true
`},
		{Program: "coreutils", Does: "fallocate, the end is never written", After: nothing, Fails: true, Script: `
python3 -c 'import os
f = os.open("x.csv", os.O_CREAT | os.O_WRONLY)
os.posix_fallocate(f, 0, 8000000); os.write(f, b"a;b\n" * 1000); os.close(f)' || true
`},
		{Program: "coreutils", Does: "truncate makes a file longer, and all of it is written", After: Tree{"x.csv": repeat("a;b\n", 2000)}, Script: `
python3 -c 'import os
f = os.open("x.csv", os.O_CREAT | os.O_WRONLY)
os.ftruncate(f, 8000); os.pwrite(f, b"a;b\n" * 1000, 4000); os.pwrite(f, b"a;b\n" * 1000, 0); os.close(f)'
`},
	}
}
