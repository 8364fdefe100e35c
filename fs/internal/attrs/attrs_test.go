package attrs_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/attrs"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/xattr"
)

// node is a Node that records its changes.
type node struct {
	kind    xattr.Node
	subject xattr.Subject
	changed []string
}

func (n *node) Kind() xattr.Node { return n.kind }

func (n *node) Subject(context.Context) (xattr.Subject, error) { return n.subject, nil }

func (n *node) Change(_ context.Context, a xattr.Attr, value []byte) error {
	change := strings.TrimPrefix(a.Name(), xattr.Prefix) + "=" + string(value)
	if value == nil {
		change = "-" + strings.TrimPrefix(a.Name(), xattr.Prefix)
	}
	n.changed = append(n.changed, change)
	return nil
}

// document is changed as fs changes it, except for what fs stores itself.
type document struct {
	node
	service service
}

func (d *document) Data(context.Context) (archive.DocumentData, error) {
	return archive.DocumentData{Text: "yes", Raw: []byte(`{"id":17}`)}, nil
}

func (d *document) Change(ctx context.Context, a xattr.Attr, value []byte) error {
	if a.On(d.kind) == xattr.Kept {
		return d.node.Change(ctx, a, value)
	}
	doc := *d.subject.Document
	return a.Change(ctx, &d.service, &doc, value)
}

// service counts its requests.
type service struct{ asked int }

func (s *service) SetAutoExport(context.Context, archive.ID, bool) error { s.asked++; return nil }

func (s *service) SetKeywords(context.Context, archive.ID, []string) error { s.asked++; return nil }

func (s *service) SetMetadata(context.Context, archive.ID, []archive.KeyValue) error {
	s.asked++
	return nil
}

// local is a file that stores attributes of other programs.
type local struct {
	node
	others map[string][]byte
}

func (l *local) Foreign() map[string][]byte { return l.others }

func (l *local) SetForeign(name string, value []byte) error {
	if value == nil {
		delete(l.others, name)
	} else {
		l.others[name] = value
	}
	return nil
}

func newDocument(kind xattr.Node, state xattr.State) attrs.Node {
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	d := archive.Document{
		ID: 17, Name: "r.pdf", Pages: 2, Created: at, Archived: at, Keywords: []string{"a"},
		Metadata: []archive.KeyValue{{Key: "k", Value: "v"}}, AutoExport: archive.FlagTrue,
	}
	s := xattr.Subject{ID: d.ID, Document: &d, State: state}
	s.Keep, s.Cached = xattr.KeepOn, xattr.CachedPart
	return &document{node: node{kind: kind, subject: s}}
}

func attributes() *archive.Attributes {
	return &archive.Attributes{
		Keywords: []string{"a"}, Types: []string{"t"}, Metadata: []archive.KeyValue{{Key: "k", Value: "v"}}, ExternalID: "e",
		EmailImportOrder: archive.EmailOnly, ForceNew: archive.FlagTrue,
	}
}

func newLocal(state xattr.State, why string) attrs.Node {
	on := true
	return &local{
		node:   node{kind: xattr.NodeLocal, subject: xattr.Subject{State: state, Error: why, Cached: xattr.CachedWhole, Draft: xattr.Draft{Attributes: attributes(), AutoExport: &on}}},
		others: map[string][]byte{"user.other": []byte("o")},
	}
}

func newDirectory(kind string, id archive.ID) attrs.Node {
	s := xattr.Subject{ID: id, Kind: kind, Path: "/x"}
	if id != 0 {
		s.Keep = xattr.KeepOn
		s.Defaults.Attributes = attributes()
	}
	return &node{kind: xattr.NodeDirectory, subject: s}
}

// nodes returns one new node of each kind, with a value for every attribute that the kind can have.
func nodes() map[string]attrs.Node {
	return map[string]attrs.Node{
		"archived": newDocument(xattr.NodeArchived, xattr.StateArchived),
		"in inbox": newDocument(xattr.NodeInbox, xattr.StateInbox),
		"written":  newLocal(xattr.StatePending, ""),
		"failed":   newLocal(xattr.StateFailed, "why"),
		"mandator": newDirectory("mandator", 1),
		"folder":   newDirectory("folder", 2),
		"inbox":    newDirectory("inbox", 3),
		"trash":    newDirectory("local", 0), // a directory that stays local
		"root":     &node{kind: xattr.NodeRoot, subject: xattr.Subject{Defaults: xattr.Draft{Attributes: attributes()}}},
	}
}

// columns are the nodes of the table, in order.
var columns = []string{"archived", "in inbox", "written", "failed", "mandator", "folder", "inbox", "trash", "root"}

// cells says for each attribute on each node, in the order of columns, what get, set (to a valid
// value), remove and list do, in this order:
//
//	v  get: there is a value           .  get: ENODATA
//	s  set: sent to the service        k  set: kept here         i  set: ignored
//	p  set: EPERM                      n  set: ENOTSUP
//	s  remove: sent                    k  remove: kept here      i  remove: ignored
//	.  remove: ENODATA                 p  remove: EPERM          n  remove: ENOTSUP
//	l  listed                          -  not listed
//
// docs/REFERENCE.md, "Extended attributes", says the same in words.
var cells = map[string]string{
	//                           archived inbox written failed mandator folder inbox trash root
	"id":                        "vppl vppl .i.- .i.- viil viil viil .ii- .nn-",
	"name":                      "vppl vppl .i.- .i.- .nn- .nn- .nn- .nn- .nn-",
	"created":                   "vppl vppl .i.- .i.- .nn- .nn- .nn- .nn- .nn-",
	"archived":                  "vppl vppl .i.- .i.- .nn- .nn- .nn- .nn- .nn-",
	"pages":                     "vppl vppl .i.- .i.- .nn- .nn- .nn- .nn- .nn-",
	"state":                     "vppl vppl viil viil .ii- .ii- .ii- .ii- .nn-",
	"error":                     ".p.- .p.- .i.- viil .nn- .nn- .nn- .nn- .nn-",
	"auto-export":               "vspl vspl vkkl vkkl .nn- .nn- .nn- .nn- .nn-",
	"keywords":                  "vssl vkkl vkkl vkkl .nn- .nn- .nn- .nn- .nn-",
	"metadata.k":                "vspl vspl vkkl vkkl .nn- .nn- .nn- .nn- .nn-",
	"metadata.other":            ".s.- .s.- .k.- .k.- .nn- .nn- .nn- .nn- .nn-",
	"document-types":            ".p.- .p.- vkkl vkkl .nn- .nn- .nn- .nn- .nn-",
	"external-id":               ".p.- .p.- vkkl vkkl .nn- .nn- .nn- .nn- .nn-",
	"email-import-order":        ".p.- .p.- vkkl vkkl .nn- .nn- .nn- .nn- .nn-",
	"force-new-document":        ".p.- .p.- vkkl vkkl .nn- .nn- .nn- .nn- .nn-",
	"notes":                     "vp.- vp.- .n.- .n.- .nn- .nn- .nn- .nn- .nn-",
	"text":                      "vp.- vp.- .n.- .n.- .nn- .nn- .nn- .nn- .nn-",
	"stamps":                    "vp.- vp.- .n.- .n.- .nn- .nn- .nn- .nn- .nn-",
	"data":                      "vp.- vp.- .n.- .n.- .nn- .nn- .nn- .nn- .nn-",
	"retry":                     ".p.- .p.- .k.- .k.- .nn- .nn- .nn- .nn- .nn-",
	"send":                      ".i.- .i.- .k.- .k.- .k.- .k.- .k.- .k.- .k.-",
	"keep":                      "vkk- vkk- .i.- .i.- vkk- vkk- vkk- .k.- .nn-",
	"cached":                    "vpp- vpp- vii- vii- .nn- .nn- .nn- .nn- .nn-",
	"kind":                      ".n.- .n.- .n.- .n.- viil viil viil viil .nn-",
	"path":                      ".n.- .n.- .n.- .n.- viil viil viil viil .nn-",
	"upload.keywords":           ".n.- .n.- .n.- .n.- vkkl vkkl vkkl .k.- vkkl",
	"upload.metadata.k":         ".n.- .n.- .n.- .n.- vkkl vkkl vkkl .k.- vkkl",
	"upload.metadata.other":     ".n.- .n.- .n.- .n.- .k.- .k.- .k.- .k.- .k.-",
	"upload.document-types":     ".n.- .n.- .n.- .n.- vkkl vkkl vkkl .k.- vkkl",
	"upload.email-import-order": ".n.- .n.- .n.- .n.- vkkl vkkl vkkl .k.- vkkl",
	"upload.force-new-document": ".n.- .n.- .n.- .n.- vkkl vkkl vkkl .k.- vkkl",
}

// TestEveryCell compares every attribute on every node with the table above.
func TestEveryCell(t *testing.T) {
	values := map[string]string{"auto-export": "false", "email-import-order": "ATTACHMENTS_ONLY", "force-new-document": "false", "retry": "true", "keep": "0"}
	for name, want := range cells {
		want := strings.Fields(want)
		if len(want) != len(columns) {
			t.Fatalf("%s has %d cells", name, len(want))
		}
		value, ok := values[strings.TrimPrefix(name, "upload.")]
		if !ok {
			value = "x"
		}
		for i, column := range columns {
			if got := cell(t, column, xattr.Prefix+name, value); got != want[i] {
				t.Errorf("%s of %s: got %s, want %s", name, column, got, want[i])
			}
		}
	}
	for _, name := range xattr.All() {
		if _, ok := cells[strings.Replace(name, "KEY", "k", 1)]; !ok {
			t.Errorf("%s has no line", name)
		}
	}
}

// cell tries all operations with an attribute on a node.
func cell(t *testing.T, column, name, value string) string {
	t.Helper()
	got := letter(func(n attrs.Node) error {
		v, err := attrs.Get(t.Context(), n, name)
		if err == nil && v == nil {
			t.Errorf("%s of %s is nil", name, column)
		}
		return err
	}, column, "v")
	for _, change := range []func(n attrs.Node) error{
		func(n attrs.Node) error { return attrs.Set(t.Context(), n, name, []byte(value), 0) },
		func(n attrs.Node) error { return attrs.Remove(t.Context(), n, name) },
	} {
		got += letter(change, column, "i")
	}
	names, err := attrs.List(t.Context(), nodes()[column])
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(names, name) {
		return got + "l"
	}
	return got + "-"
}

// letter returns the letter for the outcome of a call on a new node; done is the letter if nothing
// changed.
func letter(call func(attrs.Node) error, column, done string) string {
	n := nodes()[column]
	err := call(n)
	switch {
	case err != nil:
		return map[syscall.Errno]string{attrs.ErrAbsent: ".", syscall.EPERM: "p", syscall.ENOTSUP: "n"}[errno.Of(err)]
	case changes(n) > 0:
		return "k"
	}
	if d, ok := n.(*document); ok && d.service.asked > 0 {
		return "s"
	}
	return done
}

// changes counts the changes of a node.
func changes(n attrs.Node) int {
	switch n := n.(type) {
	case *document:
		return len(n.changed)
	case *local:
		return len(n.changed)
	case *node:
		return len(n.changed)
	}
	return 0
}

func TestBadValuesAndNames(t *testing.T) {
	tests := []struct {
		column, name, value string
		flags               int
		want                syscall.Errno
	}{
		{"archived", "user.archive.auto-export", "maybe", 0, syscall.EINVAL},
		{"archived", "user.archive.auto-export", "", 0, syscall.EINVAL},
		{"archived", "user.archive.keep", "true", 0, syscall.EINVAL},
		{"folder", "user.archive.keep", "1\n", 0, 0},
		{"written", "user.archive.auto-export", "", 0, syscall.EINVAL},
		{"written", "user.archive.email-import-order", "RANDOM", 0, syscall.EINVAL},
		{"written", "user.archive.external-id", strings.Repeat("x", xattr.MaxValue+1), 0, syscall.E2BIG},
		{"folder", "user.archive.upload.keywords", `\`, 0, syscall.EINVAL},
		{"written", "user.archive.keywords", "x", unix.XATTR_CREATE, syscall.EEXIST},
		{"written", "user.archive.metadata.other", "x", unix.XATTR_REPLACE, attrs.ErrAbsent},
		{"written", "user.archive.nonsense", "x", 0, syscall.ENOTSUP},
		{"written", "security.selinux", "x", 0, syscall.ENOTSUP},
		{"archived", "user.other", "x", 0, syscall.ENOTSUP},
		{"folder", "user.other", "x", 0, syscall.ENOTSUP},
		{"written", "user.other", "x", unix.XATTR_CREATE, syscall.EEXIST},
		{"written", "user.third", "x", unix.XATTR_REPLACE, attrs.ErrAbsent},
		{"written", "user.third", strings.Repeat("x", xattr.MaxValue+1), 0, syscall.E2BIG},
		{"written", "user.third", "", 0, 0},
	}
	for _, tt := range tests {
		n := nodes()[tt.column]
		if err := attrs.Set(t.Context(), n, tt.name, []byte(tt.value), tt.flags); errno.Of(err) != tt.want {
			t.Errorf("set %s of %s to %.20q: got %v, want %v", tt.name, tt.column, tt.value, err, tt.want)
		}
		if changed := changes(n) > 0; changed != (tt.want == 0 && tt.name != "user.third") {
			t.Errorf("set %s of %s: changed %v", tt.name, tt.column, changed)
		}
	}
	for name, want := range map[string]syscall.Errno{
		"user.archive.nonsense": syscall.ENOTSUP, "security.selinux": syscall.ENOTSUP, "user.other": attrs.ErrAbsent,
	} {
		for column, n := range nodes() {
			want := want
			if _, keeps := n.(attrs.Keeper); keeps && name == "user.other" {
				want = 0
			}
			if _, err := attrs.Get(t.Context(), n, name); errno.Of(err) != want {
				t.Errorf("get %s of %s: got %v, want %v", name, column, err, want)
			}
			if n.Kind().IsDirectory() && name == "user.other" {
				want = syscall.ENOTSUP
			}
			if err := attrs.Remove(t.Context(), n, name); errno.Of(err) != want {
				t.Errorf("remove %s of %s: got %v, want %v", name, column, err, want)
			}
		}
	}
}

// What this machine knows is read, and set, without what a subject costs.
func TestAttributesOfThisMachine(t *testing.T) {
	n := here{broken{nodes()["archived"]}}
	for name, want := range map[string]string{"user.archive.keep": "inherited", "user.archive.cached": "no", "user.archive.state": "inbox"} {
		if got, err := attrs.Get(t.Context(), n, name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if err := attrs.Set(t.Context(), n, "user.archive.keep", []byte("1"), 0); err != nil || changes(n.Node.(broken).Node) != 1 {
		t.Errorf("set: %v", err)
	}
}

type here struct{ attrs.Node }

func (here) Here() xattr.Subject {
	return xattr.Subject{Keep: xattr.KeepAbove, Cached: xattr.CachedNot, State: xattr.StateInbox}
}

// An empty value is a value, and removes nothing.
func TestForeignAttributes(t *testing.T) {
	n := nodes()["written"]
	for _, value := range [][]byte{nil, {}} {
		if err := attrs.Set(t.Context(), n, "user.third", value, 0); err != nil {
			t.Fatal(err)
		}
		if v, err := attrs.Get(t.Context(), n, "user.third"); err != nil || len(v) != 0 {
			t.Errorf("got %q, %v", v, err)
		}
	}
	names, err := attrs.List(t.Context(), n)
	if err != nil || !slices.Equal(names[len(names)-2:], []string{"user.other", "user.third"}) {
		t.Errorf("listed %q, %v", names, err)
	}
	if err := attrs.Remove(t.Context(), n, "user.third"); err != nil {
		t.Error(err)
	}
	if got := slices.Collect(maps.Keys(n.(attrs.Keeper).Foreign())); !slices.Equal(got, []string{"user.other"}) {
		t.Errorf("kept are %q", got)
	}
}

// If a node cannot read its attributes, each call fails with its error.
func TestErrorsOfANode(t *testing.T) {
	n := broken{nodes()["written"]}
	_, get := attrs.Get(t.Context(), n, "user.archive.id")
	_, list := attrs.List(t.Context(), n)
	for _, err := range []error{
		get, list, attrs.Set(t.Context(), n, "user.archive.keywords", []byte("a"), 0), attrs.Remove(t.Context(), n, "user.archive.keywords"),
	} {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v", err)
		}
	}
}

type broken struct{ attrs.Node }

func (broken) Subject(context.Context) (xattr.Subject, error) { return xattr.Subject{}, syscall.EIO }
