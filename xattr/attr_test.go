package xattr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/xattr"
)

// known is the attribute of that name.
func known(t testing.TB, name string) xattr.Attr {
	t.Helper()
	a, err := xattr.Parse(xattr.Prefix + name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// keyed is metadata.KEY, or the default of a directory.
func keyed(t testing.TB, key string, isDefault bool) xattr.Attr {
	t.Helper()
	a := known(t, "metadata.k")
	a.Key, a.Default = key, isDefault
	return a
}

func TestParse(t *testing.T) {
	names := map[string]string{ // and what Name says
		"id": "id", "auto-export": "auto-export", "upload.keywords": "upload.keywords",
		"metadata.customer": "metadata.customer", "metadata.a.b c": "metadata.a.b c", "metadata.Größe": "metadata.Größe",
		"metadata.100%25": "metadata.100%25", "metadata.100%": "metadata.100%25", "metadata.%+1": "metadata.%25+1",
		"metadata.a%0Ab": "metadata.a%0Ab", "upload.metadata.k": "upload.metadata.k",
	}
	for name, want := range names {
		if got := known(t, name).Name(); got != xattr.Prefix+want {
			t.Errorf("%s became %s, want %s", name, got, want)
		}
	}
	for name, key := range map[string]string{
		"metadata.customer": "customer", "metadata.a.b c": "a.b c", "metadata.Größe": "Größe", "metadata.100%25": "100%", "metadata.100%": "100%",
		"metadata.%+1": "%+1", "metadata.a%0Ab": "a\nb",
	} {
		if got := known(t, name); got != keyed(t, key, false) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got := known(t, "upload.metadata.k"); got != keyed(t, "k", true) {
		t.Errorf("got %+v", got)
	}
	tests := []struct {
		name string
		err  error
	}{
		{"user.archive.metadata.", xattr.ErrUnknown},
		{"user.archive.metadata", xattr.ErrUnknown},
		{"user.archive.upload.metadata", xattr.ErrUnknown},
		{"user.archive.upload.external-id", xattr.ErrUnknown},
		{"user.archive.upload.id", xattr.ErrUnknown},
		{"user.archive.ids", xattr.ErrUnknown},
		{"user.archive.ID", xattr.ErrUnknown},
		{"user.archive.", xattr.ErrUnknown},
		{"user.archive.upload.", xattr.ErrUnknown},
		{"user.archive", xattr.ErrForeign},
		{"user.xdg.origin.url", xattr.ErrForeign},
		{"security.selinux", xattr.ErrNamespace},
		{"system.posix_acl_access", xattr.ErrNamespace},
		{"trusted.archive.id", xattr.ErrNamespace},
		{"com.apple.quarantine", xattr.ErrNamespace},
		{"", xattr.ErrNamespace},
	}
	for _, tt := range tests {
		if got, err := xattr.Parse(tt.name); got != (xattr.Attr{}) || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %+v, %v; want %v", tt.name, got, err, tt.err)
		}
	}
}

func TestNameEscapesOnlyWhatItMust(t *testing.T) {
	tests := map[string]string{
		"plain":      "plain",
		"Größe € ":   "Größe € ",
		"a=b,c\\d":   "a=b,c\\d",
		"50%":        "50%25",
		"%41":        "%2541",
		"a\x00b\n":   "a%00b%0A",
		"\xff\u0085": "%FF%C2%85",
		"\uFFFD":     "\uFFFD",
	}
	for key, want := range tests {
		a := keyed(t, key, false)
		if got := a.Name(); got != "user.archive.metadata."+want {
			t.Errorf("%q: got %q, want %q", key, got, want)
		}
	}
}

func TestListed(t *testing.T) {
	room := xattr.MaxName - len("user.archive.metadata.")
	tests := []struct {
		attr xattr.Attr
		want bool
	}{
		{known(t, "id"), true},
		{known(t, "notes"), false},
		{known(t, "stamps"), false},
		{known(t, "data"), false},
		{keyed(t, strings.Repeat("k", room), false), true},
		{keyed(t, strings.Repeat("k", room+1), false), false},
		{keyed(t, strings.Repeat("k", room-3)+"%", false), true},
		{keyed(t, strings.Repeat("k", room-2)+"%", false), false},
	}
	for _, tt := range tests {
		if got := tt.attr.Listed(); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.attr.Name(), got, tt.want)
		}
	}
}

// TestTable says line by line what the table must: by NodeArchived, NodeInbox, NodeLocal,
// NodeDirectory, NodeRoot; - none, r read-only, i ignored, w writable, k kept.
func TestTable(t *testing.T) {
	table := map[string]string{
		"id":                        "rrii-",
		"name":                      "rri--",
		"created":                   "rri--",
		"archived":                  "rri--",
		"pages":                     "rri--",
		"state":                     "rrii-",
		"auto-export":               "www--",
		"keywords":                  "wkw--",
		"metadata.k":                "www--",
		"document-types":            "rrw--",
		"external-id":               "rrw--",
		"email-import-order":        "rrw--",
		"force-new-document":        "rrw--",
		"notes":                     "rr---",
		"text":                      "rr---",
		"stamps":                    "rr---",
		"data":                      "rr---",
		"error":                     "rri--",
		"retry":                     "rrw--",
		"send":                      "iiwww",
		"keep":                      "kkik-",
		"cached":                    "rri--",
		"kind":                      "---i-",
		"path":                      "---i-",
		"upload.keywords":           "---ww",
		"upload.metadata.k":         "---ww",
		"upload.document-types":     "---ww",
		"upload.email-import-order": "---ww",
		"upload.force-new-document": "---ww",
	}
	letters := map[xattr.Access]string{xattr.None: "-", xattr.ReadOnly: "r", xattr.Ignored: "i", xattr.Writable: "w", xattr.Kept: "k"}
	for name, want := range table {
		a := known(t, name)
		var got strings.Builder
		for n := xattr.NodeArchived; n <= xattr.NodeRoot; n++ {
			got.WriteString(letters[a.On(n)])
		}
		if got.String() != want {
			t.Errorf("%s: got %s, want %s", name, got.String(), want)
		}
	}
	for _, name := range xattr.All() {
		if _, ok := table[strings.Replace(name, "KEY", "k", 1)]; !ok {
			t.Errorf("%s has no line", name)
		}
	}
	if (xattr.Attr{}).On(xattr.NodeArchived) != xattr.None || (xattr.Attr{Default: true}).On(xattr.NodeRoot) != xattr.None {
		t.Error("an attribute that does not exist can be accessed")
	}
	if known(t, "id").On(xattr.NodeRoot+1) != xattr.None {
		t.Error("a node that does not exist has attributes")
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"id", "metadata.a%00b", "metadata.%%%25", "upload.metadata.\xff", "metadata.é%4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		for _, name := range []string{xattr.Prefix + rest, xattr.Prefix + "metadata." + rest, rest} {
			a, err := xattr.Parse(name)
			if err != nil {
				continue
			}
			again, err := xattr.Parse(a.Name())
			if err != nil || again != a {
				t.Fatalf("%q is %+v, its name %q is %+v, %v", name, a, a.Name(), again, err)
			}
			if strings.ContainsRune(a.Name(), 0) {
				t.Fatalf("NUL in the name %q", a.Name())
			}
		}
		if rest == "" {
			return
		}
		a := keyed(t, rest, true)
		if got, err := xattr.Parse(a.Name()); err != nil || got != a {
			t.Fatalf("key %q became %+v, %v", rest, got, err)
		}
	})
}
