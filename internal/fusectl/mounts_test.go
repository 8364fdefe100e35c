package fusectl

import (
	"slices"
	"testing"
)

func TestMounts(t *testing.T) {
	const info = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
90 22 0:40 / /home/erika/My\040Archive\134 rw,nosuid shared:5 - fuse.archivefs https://archive.example/api/v2 rw,user_id=0
91 22 0:41 / /mnt rw - fuse.sshfs host: rw
92 22 0:42 / /srv/a rw,nosuid - fuse.archivefs - rw
`
	want := []Mounted{
		{ID: "22", Device: "254:0", Dir: "/", Kind: "ext4", Options: "rw"},
		{ID: "90", Device: "0:40", Dir: `/home/erika/My Archive\`, Kind: "fuse.archivefs", Options: "rw,user_id=0"},
		{ID: "91", Device: "0:41", Dir: "/mnt", Kind: "fuse.sshfs", Options: "rw"},
		{ID: "92", Device: "0:42", Dir: "/srv/a", Kind: "fuse.archivefs", Options: "rw"},
	}
	if got := parseMounts(info); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestUnescape(t *testing.T) {
	tests := []struct{ text, want string }{
		{"/mnt", "/mnt"},
		{"", ""},
		{`/mnt/My\040Archive`, "/mnt/My Archive"},
		{`\040`, " "},
		{`\011\012\134\043`, "\t\n\\#"},
		{`a\134040b`, `a\040b`},
		{`/mnt/Gr\303\266\303\237e`, "/mnt/Größe"},
		{`/mnt/Größe`, "/mnt/Größe"},
		{`\04`, `\04`},
		{`a\`, `a\`},
		{`\089`, `\089`},
		{`\777`, `\777`},
		{`\-12`, `\-12`},
		{`\+12`, `\+12`},
	}
	for _, tt := range tests {
		if got := Unescape(tt.text); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.text, got, tt.want)
		}
	}
}
