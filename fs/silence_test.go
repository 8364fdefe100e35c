package fs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// Every operation on a service that has fallen silent ends with an error, without an interrupt, and
// long before ends gives up.
func TestEveryOperationEnds(t *testing.T) {
	for name, script := range map[string]string{
		"list a folder":                 `ls Briefe`,
		"list inboxes":                  `ls ../inboxes`,
		"look for a name":               `stat Briefe/a.txt`,
		"read":                          `cat Rechnungen/a.txt`,
		"read document data":            `getfattr -n user.archive.data Rechnungen/a.txt`,
		"archive a file":                `cp "$new" Rechnungen/`,
		"make a folder":                 `mkdir Rechnungen/2024`,
		"file a document of an inbox":   `mv ../inboxes/Administrator/scan.txt Rechnungen/`,
		"rename a document":             `mv Rechnungen/a.txt Rechnungen/b.txt`,
		"delete a document of an inbox": `rm ../inboxes/Administrator/scan.txt`,
		"append to an inbox document":   `sh -c 'echo more >>../inboxes/Administrator/scan.txt'`,
		"replace an inbox document":     `cp "$new" ../inboxes/Administrator/scan.txt`,
		"truncate an inbox document":    `truncate -s 1 ../inboxes/Administrator/scan.txt`,
		"set a state":                   `setfattr -n user.archive.auto-export -v true Rechnungen/a.txt`,
		"set keywords":                  `setfattr -n user.archive.keywords -v Mahnung Rechnungen/a.txt`,
		"set metadata":                  `setfattr -n user.archive.metadata.Betrag -v 1 Rechnungen/a.txt`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
			f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("bytes"), Pages: 1})
			f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan"), Pages: 1})
			l, address := newLine(t, f.url)
			m := mount(t, address, f.cred, func(o *fs.Options) { o.AllowDelete = true })
			m.stall = 5 * time.Second // and no machine is so busy
			m.remount()
			wantNames(t, m.path("Muster GmbH", "Rechnungen"), "a.txt")
			if name != "list inboxes" {
				wantNames(t, m.path("inboxes", "Administrator"), "scan.txt")
			}
			source := filepath.Join(t.TempDir(), "new.txt")
			must(t, os.WriteFile(source, []byte("new"), 0o600))
			l.silence()
			cmd := run(t, "env", "-C", m.path("Muster GmbH"), "new="+source, "sh", "-c", script)
			if err := ends(t, cmd); err == nil {
				t.Error("ended without an error")
			}
			l.speak()
		})
	}
}
