package xattr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/xattr"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		want xattr.Attr
		err  error
	}{
		{"user.archive.id", xattr.Attr{Kind: xattr.KindID}, nil},
		{"user.archive.auto-export", xattr.Attr{Kind: xattr.KindAutoExport}, nil},
		{"user.archive.upload.keywords", xattr.Attr{Kind: xattr.KindUploadKeywords}, nil},
		{"user.archive.metadata.customer", xattr.Attr{Kind: xattr.KindMetadata, Key: "customer"}, nil},
		{"user.archive.metadata.a.b c", xattr.Attr{Kind: xattr.KindMetadata, Key: "a.b c"}, nil},
		{"user.archive.metadata.Größe", xattr.Attr{Kind: xattr.KindMetadata, Key: "Größe"}, nil},
		{"user.archive.metadata.100%25", xattr.Attr{Kind: xattr.KindMetadata, Key: "100%"}, nil},
		{"user.archive.metadata.100%", xattr.Attr{Kind: xattr.KindMetadata, Key: "100%"}, nil},
		{"user.archive.metadata.%+1", xattr.Attr{Kind: xattr.KindMetadata, Key: "%+1"}, nil},
		{"user.archive.metadata.a%0Ab", xattr.Attr{Kind: xattr.KindMetadata, Key: "a\nb"}, nil},
		{"user.archive.upload.metadata.k", xattr.Attr{Kind: xattr.KindUploadMetadata, Key: "k"}, nil},
		{"user.archive.metadata.", xattr.Attr{}, xattr.ErrUnknown},
		{"user.archive.metadata", xattr.Attr{}, xattr.ErrUnknown},
		{"user.archive.ids", xattr.Attr{}, xattr.ErrUnknown},
		{"user.archive.ID", xattr.Attr{}, xattr.ErrUnknown},
		{"user.archive.", xattr.Attr{}, xattr.ErrUnknown},
		{"user.archive", xattr.Attr{}, xattr.ErrForeign},
		{"user.xdg.origin.url", xattr.Attr{}, xattr.ErrForeign},
		{"security.selinux", xattr.Attr{}, xattr.ErrNamespace},
		{"system.posix_acl_access", xattr.Attr{}, xattr.ErrNamespace},
		{"trusted.archive.id", xattr.Attr{}, xattr.ErrNamespace},
		{"com.apple.quarantine", xattr.Attr{}, xattr.ErrNamespace},
		{"", xattr.Attr{}, xattr.ErrNamespace},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := xattr.Parse(tt.name)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Fatalf("got %+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
		})
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
		a := xattr.Attr{Kind: xattr.KindMetadata, Key: key}
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
		{xattr.Attr{Kind: xattr.KindID}, true},
		{xattr.Attr{Kind: xattr.KindNotes}, false},
		{xattr.Attr{Kind: xattr.KindStamps}, false},
		{xattr.Attr{Kind: xattr.KindData}, false},
		{xattr.Attr{Kind: xattr.KindMetadata, Key: strings.Repeat("k", room)}, true},
		{xattr.Attr{Kind: xattr.KindMetadata, Key: strings.Repeat("k", room+1)}, false},
		{xattr.Attr{Kind: xattr.KindMetadata, Key: strings.Repeat("k", room-3) + "%"}, true},
		{xattr.Attr{Kind: xattr.KindMetadata, Key: strings.Repeat("k", room-2) + "%"}, false},
	}
	for _, tt := range tests {
		if got := tt.attr.Listed(); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.attr.Name(), got, tt.want)
		}
	}
}

// TestTable says line by line what the table must: by NodeArchived, NodeInbox, NodeLocal,
// NodeDirectory, NodeRoot; - none, r read-only, i ignored, w writable.
func TestTable(t *testing.T) {
	table := map[string]string{
		"id":                        "rrir-",
		"name":                      "rri--",
		"created":                   "rri--",
		"archived":                  "rri--",
		"pages":                     "rri--",
		"state":                     "rri--",
		"auto-export":               "www--",
		"keywords":                  "www--",
		"metadata.k":                "www--",
		"document-types":            "rrw--",
		"external-id":               "rrw--",
		"email-import-order":        "rrw--",
		"force-new-document":        "rrw--",
		"notes":                     "rr---",
		"stamps":                    "rr---",
		"data":                      "rr---",
		"error":                     "rri--",
		"retry":                     "rrw--",
		"kind":                      "---r-",
		"path":                      "---r-",
		"upload.keywords":           "---ww",
		"upload.metadata.k":         "---ww",
		"upload.document-types":     "---ww",
		"upload.email-import-order": "---ww",
		"upload.force-new-document": "---ww",
	}
	letters := map[xattr.Access]string{xattr.None: "-", xattr.ReadOnly: "r", xattr.Ignored: "i", xattr.Writable: "w"}
	for name, want := range table {
		a, err := xattr.Parse(xattr.Prefix + name)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for n := xattr.NodeArchived; n <= xattr.NodeRoot; n++ {
			got += letters[a.On(n)]
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if (xattr.Attr{}).On(xattr.NodeArchived) != xattr.None || (xattr.Attr{Kind: 200}).On(xattr.NodeLocal) != xattr.None {
		t.Error("an attribute that does not exist can be accessed")
	}
	if (xattr.Attr{Kind: xattr.KindID}).On(xattr.NodeRoot+1) != xattr.None {
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
		a := xattr.Attr{Kind: xattr.KindUploadMetadata, Key: rest}
		if got, err := xattr.Parse(a.Name()); err != nil || got != a {
			t.Fatalf("key %q became %+v, %v", rest, got, err)
		}
	})
}
