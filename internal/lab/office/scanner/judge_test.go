//go:build linux

package scanner

import (
	"crypto/sha256"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func TestJudge(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	a := newPaper(rnd, 1, AtOnce, PDF, "a.pdf", 3)
	b := newPaper(rnd, 2, BrokenOff, PDF, "b.pdf", 2)
	whole := Document{"a.pdf", a.Content()}
	swapped := Document{"a.pdf", slices.Concat(a.parts[1], a.parts[0], a.parts[2])}
	gap := Document{"a.pdf", slices.Concat(a.parts[0], a.parts[2])}
	sum := func(content []byte) [][sha256.Size]byte { return [][sha256.Size]byte{sha256.Sum256(content)} }
	half := []Document{{"b.pdf", b.parts[0]}}
	early := []Document{whole, half[0]}
	tests := map[string]struct {
		documents []Document
		sent      [][sha256.Size]byte
		failed    []Document
		untold    bool
		server    Server
		want      Verdict
	}{
		"all is well":       {documents: []Document{whole}, sent: sum(a.Content()), failed: half, want: Verdict{Documents: 1, Kept: 1}},
		"lost":              {failed: half, want: Verdict{Lost: 1, Kept: 1}},
		"doubled":           {documents: []Document{whole, whole}, failed: half, want: Verdict{Documents: 2, Doubled: 1, Kept: 1}},
		"cut":               {documents: []Document{whole, {"b.pdf", b.parts[0]}}, failed: half, want: Verdict{Documents: 1, Cut: 1, Kept: 1}},
		"a page is missing": {documents: []Document{whole, gap}, failed: half, want: Verdict{Documents: 1, Cut: 1, Kept: 1}},
		"wrong order":       {documents: []Document{whole, swapped}, failed: half, want: Verdict{Documents: 1, Disordered: 1, Kept: 1}},
		"wrong name":        {documents: []Document{{"tmp", a.Content()}}, failed: half, want: Verdict{Documents: 1, Misnamed: 1, Kept: 1}},
		"a strange file":    {documents: []Document{whole, {".DS_Store", []byte("x")}}, failed: half, want: Verdict{Documents: 1, Junk: 1, Kept: 1}},
		"junk was sent":     {documents: []Document{whole}, sent: sum([]byte("x")), failed: half, want: Verdict{Documents: 1, Junk: 1, Kept: 1}},
		"vanished":          {documents: []Document{whole}, want: Verdict{Documents: 1, Vanished: 1}},
		"told too early":    {failed: early, server: Vsftpd, want: Verdict{Early: 1, Kept: 1}},
		"lost by vsftpd":    {failed: half, server: Vsftpd, want: Verdict{Lost: 1, Kept: 1}},
		"half of it kept":   {failed: []Document{half[0], {"a.pdf", a.parts[0]}}, server: Vsftpd, want: Verdict{Lost: 1, Kept: 1}},
		"kept by Samba":     {failed: early, server: Samba, want: Verdict{Lost: 1, Kept: 1}},
		"kept by proftpd":   {failed: early, server: Proftpd, want: Verdict{Lost: 1, Kept: 1}},
		"it kept another":   {documents: []Document{whole}, failed: []Document{{"b.pdf", a.parts[0]}}, want: Verdict{Documents: 1, Vanished: 1}},
		"given up":          {documents: []Document{whole}, untold: true, failed: half, want: Verdict{Documents: 1, GivenUp: 1, Kept: 1}},
	}
	for name, tt := range tests {
		got := Judge([]*Scan{{Paper: a, Told: !tt.untold, Server: tt.server}, {Paper: b, Left: true}}, tt.documents, tt.sent, tt.failed)
		if broken := got.Broken(); broken != len(got.What) || broken != tt.want.Broken() {
			t.Errorf("%s: %d broken, %q", name, broken, got.What)
		}
		got.What = nil
		if !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOriginal(t *testing.T) {
	for shown, want := range map[string]string{"scan.pdf": "scan.pdf", "scan (2).pdf": "scan.pdf", "scan (12)": "scan", "(2).pdf": "(2).pdf"} {
		if got := original(shown); got != want {
			t.Errorf("%q of %q", got, shown)
		}
	}
}
