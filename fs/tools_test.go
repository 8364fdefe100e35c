package fs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// source makes a directory tree to copy in.
func source(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "Projekt Süd")
	must(t, os.MkdirAll(filepath.Join(dir, "Pläne"), 0o755))
	for name, content := range map[string]string{
		"Angebot.txt": "Angebot", "Pläne/Grundriss 1.txt": "Grundriss", "Pläne/ohne Endung": "Text", ".~lock.x#": "junk",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o640))
	}
	return dir
}

// Common programs in their usual ways, with a fresh archive each.
func TestTools(t *testing.T) {
	for name, script := range map[string]string{
		"cp -r":    `cp -r "$src" "$d/" && diff -r "$src" "$d/Projekt Süd"`,
		"cp -p":    `mkdir "$d/x" && cp -p "$src/Angebot.txt" "$d/x/" && [ "$(stat -c %Y "$d/x/Angebot.txt")" = "$(stat -c %Y "$src/Angebot.txt")" ]`,
		"cp -a":    `cp -a "$src" "$d/" && diff -r "$src" "$d/Projekt Süd"`,
		"xattr":    `cp --preserve=xattr "$src/Angebot.txt" "$d/a.txt" && cp --preserve=xattr "$d/a.txt" "$d/b.txt" && cmp "$d/a.txt" "$d/b.txt"`,
		"mv in":    `mv "$src/Angebot.txt" "$d/" && [ ! -e "$src/Angebot.txt" ] && grep -q Angebot "$d/Angebot.txt"`,
		"install":  `install -m 644 "$src/Angebot.txt" "$d/a.txt" && cmp "$src/Angebot.txt" "$d/a.txt"`,
		"rsync":    `rsync -a "$src/" "$d/r/" && rsync -a --itemize-changes "$src/" "$d/r/" | grep '^>f' && exit 1; diff -r -x '.~lock*' "$src" "$d/r"`,
		"inplace":  `rsync -a --inplace "$src/Angebot.txt" "$d/a.txt" && cmp "$src/Angebot.txt" "$d/a.txt"`,
		"tar in":   `tar -C "$src/.." -cf - "Projekt Süd" | tar -C "$d" -xf - && diff -r "$src" "$d/Projekt Süd"`,
		"tar out":  `cp -r "$src" "$d/" && tar -C "$d" -cf - "Projekt Süd" | tar -tf - | grep -q 'Grundriss 1'`,
		"tar attr": `cp "$src/Angebot.txt" "$d/a.txt"; mkdir "$d/x"; tar --xattrs -C "$d" -cf - a.txt | tar --xattrs -C "$d/x" -xf - && cmp "$src/Angebot.txt" "$d/x/a.txt"`,
		"dd":       `dd if="$src/Angebot.txt" of="$d/a.txt" conv=fsync status=none && cmp "$src/Angebot.txt" "$d/a.txt"`,
		"find":     `cp -r "$src" "$d/" && [ "$(find "$1" -name 'Grundriss*' -type f | wc -l)" = 1 ]`,
		"touch":    `touch "$d/neu.txt" && touch -d 2020-01-02 "$d/neu.txt" && [ "$(stat -c %Y "$d/neu.txt")" = "$(date -d 2020-01-02 +%s)" ]`,
		"touch -d": `cp "$src/Angebot.txt" "$d/" && touch -d 2020-01-02 "$d/Angebot.txt" && [ "$(stat -c %Y "$d/Angebot.txt")" = "$(date -d 2020-01-02 +%s)" ]`,
		"sed -i":   `i="$1/inboxes/Administrator"; printf 'alt\n' > "$i/a.txt" && sed -i s/alt/neu/ "$i/a.txt" && grep -qx neu "$i/a.txt"`,
		"zip":      `cd "$src" && zip -q "$d/a.zip" Angebot.txt && unzip -qt "$d/a.zip"`,
		"vim new":  `vim -u NONE -es -c 'normal iGuten Tag' -c wq "$d/brief.txt" </dev/null && grep -q 'Guten Tag' "$d/brief.txt"`,
		"df":       `[ "$(df --output=avail "$1" | tail -1)" -gt 1000 ]`,
		"chown":    `cp "$src/Angebot.txt" "$d/" && chown "$(id -u)" "$d/Angebot.txt" && chmod 600 "$d/Angebot.txt"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			m := o.mount(t, nil)
			sh(t, m, `d="$1/Muster GmbH/Briefe"; src='`+source(t)+`'; `+script)
			if ups := m.uploads(); len(ups) != 0 {
				t.Errorf("uploads remain: %v", ups)
			}
		})
	}
}

// Every tool that copies files in must end with the same documents in the archive.
func TestToolsArchiveWhatTheyCopy(t *testing.T) {
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	sh(t, m, `cp -r '`+source(t)+`' "$1/Muster GmbH/Briefe/"`)
	m.unmount()
	c := o.client(t)
	defer c.Close()
	made := get(c.Children(t.Context(), o.letters))(t)
	if len(made.Folders) != 1 || made.Folders[0].Name != "Projekt Süd" {
		t.Fatalf("folders: %+v", made.Folders)
	}
	wantArchived(t, o, made.Folders[0].ID, "Angebot.txt=Angebot")
	below := get(c.Children(t.Context(), made.Folders[0].ID))(t)
	var got []string
	for _, d := range o.documents(t, below.Folders[0].ID) {
		got = append(got, d.Name)
	}
	slices.Sort(got)
	if strings.Join(got, ",") != "Grundriss 1.txt,ohne Endung" {
		t.Errorf("documents: %q", got)
	}
}
