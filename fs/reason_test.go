package fs_test

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"
	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer // +checklocks:mu
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// take returns what was written since the last call.
func (j *journal) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.text.Reset()
	return j.text.String()
}

// logged mounts the service with a log that the test reads, and a clock that it moves.
func (f *foreign) logged(t testing.TB) (*mounted, *journal, *clock) {
	t.Helper()
	j, c := &journal{}, newClock()
	return f.mount(t, func(o *fs.Options) {
		log := logrus.New()
		log.SetOutput(j)
		o.Log, o.Now = log, c.Now
	}), j, c
}

// refusal is a change that is refused, and part of the reason.
type refusal struct {
	what   string
	try    func(m *mounted) error
	errno  syscall.Errno
	reason string
}

// try is a change by paths in the mount.
func try(do func(path string) error, elem ...string) func(*mounted) error {
	return func(m *mounted) error { return do(m.path(elem...)) }
}

// move is a rename of one path in the mount to another.
func move(from, to string) func(*mounted) error {
	return func(m *mounted) error { return os.Rename(m.path(from), m.path(to)) }
}

func overwrite(path string) error  { return os.WriteFile(path, []byte("x"), 0o600) }
func mkdir(path string) error      { return os.Mkdir(path, 0o700) }
func truncateTo(path string) error { return os.Truncate(path, 1) }

// set sets an attribute.
func set(name, value string) func(string) error {
	return func(path string) error { return xattr.Set(path, name, []byte(value)) }
}

const (
	archived = "Muster GmbH/Rechnungen/r.txt"
	waiting  = "inboxes/Administrator/scan.txt"
)

// refusals are those of the table of operations.
var refusals = []refusal{
	{"open an archived document for writing", try(overwrite, archived), syscall.EPERM, "archived documents do not change"},
	{"append to one", func(m *mounted) error { return appendTo(m.path(archived), "x") }, syscall.EPERM, "archived documents do not change"},
	{"truncate one", try(truncateTo, archived), syscall.EPERM, "archived documents do not change"},
	{"rename over one", move("Muster GmbH/Rechnungen/neu.part", archived), syscall.EPERM, "archived document"},
	{"move over one", move(waiting, archived), syscall.EPERM, "an archived document has that name"},
	{"remove one", try(os.Remove, archived), syscall.EPERM, "archived documents are not deleted"},
	{"move one elsewhere", move(archived, "Muster GmbH/Briefe/r.txt"), syscall.EPERM, "no operation that moves an archived document"},
	{"rename one", move(archived, "Muster GmbH/Rechnungen/s.txt"), syscall.EPERM, "rename the document: not supported by this service"},
	{"write what would replace one", try(overwrite, archived+".part"), syscall.EPERM, "would replace an archived document"},
	{"move a document to a junk directory", move(waiting, "inboxes/Administrator/.Trash-0/scan.txt"), syscall.EPERM, "stay on this machine"},
	{"remove an inbox document", try(os.Remove, waiting), syscall.EPERM, "--allow-delete"},
	{"move one to another inbox", move(waiting, "inboxes/Buchhaltung/scan.txt"), syscall.EPERM, "can only be archived"},
	{"move one onto another", move(waiting, "inboxes/Administrator/zwei.txt"), syscall.EPERM, "no operation that replaces"},
	{"overwrite one", try(overwrite, waiting), syscall.EPERM, "no operation that replaces"},
	{"save one with a backup", move(waiting, waiting+"~"), syscall.EPERM, "no operation that replaces"},
	{"create at the top", try(overwrite, "neu.txt"), syscall.EPERM, "beside the mandators"},
	{"mkdir at the top", try(mkdir, "Neu"), syscall.EPERM, "beside the mandators"},
	{"create among the inboxes", try(overwrite, "inboxes", "neu.txt"), syscall.EPERM, "beside the inboxes"},
	{"mkdir where the structure is not free", try(mkdir, "Muster GmbH", "Neu"), syscall.EPERM, "not free"},
	{"rename a folder", move("Muster GmbH/Briefe", "Muster GmbH/Post"), syscall.EPERM, "no operation that renames or moves a folder"},
	{"remove one", try(os.Remove, "Muster GmbH/Briefe"), syscall.EPERM, "no operation that removes a folder"},
	{"rename into the control directory", move(waiting, ".archivefs/scan.txt"), syscall.EPERM, ".archivefs"},
	{"link", func(m *mounted) error { return os.Link(m.path(archived), m.path("Muster GmbH/Briefe/l")) }, syscall.EPERM, "no links"},
	{"symlink", try(func(path string) error { return os.Symlink("x", path) }, "Muster GmbH/Briefe/l"), syscall.EPERM, "no links"},
	{"pipe", try(func(path string) error { return syscall.Mkfifo(path, 0o600) }, "Muster GmbH/Briefe/p"), syscall.EPERM, "no special files"},
	{"a name that is no UTF-8", try(overwrite, "Muster GmbH/Briefe/\xff.txt"), syscall.EILSEQ, "no UTF-8"},

	{"set what is read-only", try(set("user.archive.id", "1"), archived), syscall.EPERM, "user.archive.id cannot be set"},
	{"set what describes an upload", try(set("user.archive.external-id", "ERP-1"), archived), syscall.EPERM, "user.archive.external-id cannot be set"},
	{"set it on an inbox document", try(set("user.archive.document-types", "Rechnung"), waiting), syscall.EPERM, "user.archive.document-types cannot be set"},
	{"set it on a folder", try(set("user.archive.external-id", "ERP-1"), "Muster GmbH"), syscall.ENOTSUP, "there is no user.archive.external-id here"},
	{"set what does not exist", try(set("user.archive.nonsense", "1"), archived), syscall.ENOTSUP, "unknown attribute"},
	{"set what is not there", try(set("user.archive.upload.keywords", "a"), archived), syscall.ENOTSUP, "there is no user.archive.upload.keywords here"},
	{"set a bad value", try(set("user.archive.auto-export", "maybe"), archived), syscall.EINVAL, "neither true nor false"},
	{"set a bad default", try(set("user.archive.upload.email-import-order", "RANDOM"), "Muster GmbH"), syscall.EINVAL, "email-import-order"},
	{"set another program's", try(set("user.other", "x"), archived), syscall.ENOTSUP, "no attributes of other programs"},
	{"set what the service cannot", try(set("user.archive.keywords", "a"), archived), syscall.EPERM, "not supported by this service"},
	{"remove what the service cannot", try(func(path string) error { return xattr.Remove(path, "user.archive.metadata.k") }, archived), syscall.EPERM, "no operation that removes"},
}

// Every refusal says why, in the log.
func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{
		OnlyEight: true, Structure: hostile.StructureShape{Free: hostile.FreeFalse},
	})
	f.AddInbox(2, "Buchhaltung")
	f.AddDocument(f.bills, hostile.Document{Name: "r.txt", Content: []byte("alt"), Metadata: map[string]string{"k": "v"}})
	for _, name := range []string{"scan.txt", "zwei.txt"} {
		f.AddDocument(f.inbox, hostile.Document{Name: name, Content: []byte("alt")})
	}
	m, log, c := f.logged(t)
	must(t, os.WriteFile(m.path("Muster GmbH/Rechnungen/neu.part"), []byte("neu"), 0o600))
	must(t, os.Mkdir(m.path("inboxes/Administrator/.Trash-0"), 0o700))
	_ = overwrite(m.path(waiting)) // so that the missing operation is known
	for _, r := range refusals {
		t.Run(r.what, func(t *testing.T) {
			log.take()
			c.advance(2 * time.Minute) // the same refusal is logged once a minute
			wantErrno(t, r.what, r.try(m), r.errno)
			if got := log.take(); strings.Count(got, "refused: ") != 1 || !strings.Contains(got, r.reason) {
				t.Errorf("the log says %q, not %q", got, r.reason)
			}
		})
	}
}

// Misses that programs cause all the time are not in the log.
func TestFrequentMissesAreNotLogged(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "r.txt", Content: []byte("alt")})
	m, log, _ := f.logged(t)
	_ = exists(m.path("Muster GmbH", "Rechnungen", "anders.txt"))
	log.take()
	for _, name := range []string{"security.selinux", "system.posix_acl_access", "user.archive.nonsense", "user.other", "user.archive.error"} {
		_, _ = xattr.Get(m.path(archived), name)
	}
	_ = set("system.posix_acl_access", "x")(m.path(archived))
	_ = exists(m.path("Muster GmbH", "Rechnungen", ".hidden"))
	_, _ = os.ReadDir(m.path("Muster GmbH", "Rechnungen"))
	if got := log.take(); strings.Contains(got, "refused") || strings.Contains(got, "level=warn") {
		t.Errorf("the log says %s", got)
	}
}
