package fs_test

import (
	"testing"

	"github.com/archivefs/archivefs/internal/server"
)

// What backups and scripts look for by the change time: what came in since, whatever its modification
// time, and nothing else, also in another mount.
func TestToolsFindWhatCameInSince(t *testing.T) {
	o := newOffice(t, nil)
	o.add(t, o.letters, "earlier.txt", "2020-01-01", func(d *server.NewDocument) { d.Archived = d.Created })
	m := o.mount(t, nil)
	src := t.TempDir()
	sh(t, m, `cd '`+src+`'; echo old >old.txt; touch -d 2019-05-05 old.txt; touch mark
		cp -p old.txt "$1/Muster GmbH/Briefe/b.txt"; rsync -a old.txt "$1/Muster GmbH/Briefe/c.txt"`)
	const want = "b.txt\nc.txt\n"
	for range 2 {
		for tool, script := range map[string]string{
			"find -cnewer": `find . -type f -cnewer '` + src + `/mark' | sed s,./,,`,
			"find -ctime":  `find . -type f -ctime -1 | sed s,./,,`,
			"tar":          `tar --newer='` + src + `/mark' -cf - --no-recursion -- *.txt 2>/dev/null | tar -t`,
			"mtime":        `find . -type f ! -newermt 2019-05-06 | sed s,./,,`,
		} {
			if got := sh(t, m, `cd "$1/Muster GmbH/Briefe"; { `+script+`; } | sort`); got != want {
				t.Errorf("%s: %q", tool, got)
			}
		}
		m.remount()
	}
}

// A change time that moves without a change makes a backup read every document again.
func TestTheChangeTimeMovesWithChangesAlone(t *testing.T) {
	o := newOffice(t, nil)
	o.add(t, o.letters, "a.txt", "2020-01-01", func(d *server.NewDocument) { d.Archived = d.Created })
	o.add(t, o.inbox, "scan.txt", "2020-01-01", nil)
	m := o.mount(t, nil)
	src := t.TempDir()
	const times = `stat -c '%n %.9Y %.9Z' "$1/Muster GmbH/Briefe"/* "$1/inboxes/Administrator"/*`
	sh(t, m, `cd '`+src+`'; echo old >old.txt; touch -d 2019-05-05 old.txt; cp -p old.txt "$1/Muster GmbH/Briefe/b.txt"; echo new >"$1/inboxes/Administrator/n.txt"`)
	heals(t, "all of it is archived", func() bool { return len(m.uploads()) == 0 }) // a shell's redirection ends late
	before := sh(t, m, times)
	for _, step := range []string{
		`ls -l "$1"/*/*`, `cat "$1"/*/*/*.txt`, `getfattr -d "$1"/*/*/*.txt`, `chmod 600 "$1"/*/*/*.txt`, "remount", `ls -l "$1"/*/*`, "remount",
	} {
		if step == "remount" {
			m.remount()
		} else {
			sh(t, m, `{ `+step+`; } >/dev/null`)
		}
		if now := sh(t, m, times); now != before {
			t.Errorf("%s: the times are\n%sbefore\n%s", step, now, before)
		}
	}
	for what, script := range map[string]string{
		"keywords of a document":     `setfattr -n user.archive.keywords -v new "$f"`,
		"auto-export":                `setfattr -n user.archive.auto-export -v true "$f"`,
		"metadata":                   `setfattr -n user.archive.metadata.k -v "$RANDOM" "$f"`,
		"another name":               `mv "$f" "$f.x"; mv "$f.x" "$f"`,
		"the time of a file of ours": `touch -d 2018-01-01 "${f%a.txt}b.txt"; f="${f%a.txt}b.txt"`,
		"keywords in an inbox":       `f="$i/scan.txt"; setfattr -n user.archive.keywords -v new "$f"`,
		"new content":                `f="$i/n.txt"; touch -r "$f" ref; echo again >"$f"; touch -r ref "$f"`,
		"archiving":                  `echo "$RANDOM" >"$i/s.txt"; touch -d 2017-01-01 "$i/s.txt"; touch mark; f="$i/../../Muster GmbH/Briefe/$RANDOM.txt"; mv "$i/s.txt" "$f"`,
	} {
		got := sh(t, m, `cd '`+src+`'; f="$1/Muster GmbH/Briefe/a.txt"; i="$1/inboxes/Administrator"; stat "$f" >/dev/null; touch mark; `+script+`
			find "$f" -cnewer mark | wc -l; find "$f" -newer mark | wc -l`)
		if newer := "0\n"; got != "1\n"+newer && (what != "archiving" || got != "1\n1\n") {
			t.Errorf("%s: changed and modified since are %q", what, got)
		}
	}
	before = sh(t, m, times)
	m.remount()
	if now := sh(t, m, times); now != before {
		t.Errorf("after another mount the times are\n%sbefore\n%s", now, before)
	}
}
