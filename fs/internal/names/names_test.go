package names

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

func TestSafe(t *testing.T) {
	tests := []struct{ name, want string }{
		{"Rechnung 1234-5", "Rechnung 1234-5"},
		{"VRE1079512.pdf", "VRE1079512.pdf"},
		{"", "_"},
		{".", "_"},
		{"..", "__"},
		{"...", "..."},
		{".hidden", ".hidden"},
		{"/", "_"},
		{"a/b", "a_b"},
		{"../../etc/passwd", ".._.._etc_passwd"},
		{"a\x00b", "a_b"},
		{"\x00/", "__"},
		{" ", " "},
		{"Zeile\nzwei\t\u202e", "Zeile\nzwei\t\u202e"},
		{`C:\Akten\*?"<>|`, `C:\Akten\*?"<>|`},
		{"Größe 漢字 🗂", "Größe 漢字 🗂"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := safe(tt.name); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSplitExt(t *testing.T) {
	tests := []struct{ name, stem, ext string }{
		{"a.pdf", "a", ".pdf"},
		{"a.PDF", "a", ".PDF"},
		{"a.tar.gz", "a.tar", ".gz"},
		{"a.b", "a", ".b"},
		{"a.7z", "a", ".7z"},
		{"a.mp3", "a", ".mp3"},
		{"a.abcdefghij", "a", ".abcdefghij"},
		{"a.abcdefghijk", "a.abcdefghijk", ""},
		{"a.123456789x", "a", ".123456789x"},
		{".pdf", "", ".pdf"},
		{"", "", ""},
		{"a", "a", ""},
		{".", ".", ""},
		{"a.", "a.", ""},
		{"a.pdf.", "a.pdf.", ""},
		{"Version 1.2", "Version 1.2", ""},
		{"31.12.2024", "31.12.2024", ""},
		{"Dr. Maier", "Dr. Maier", ""},
		{"a.p-f", "a.p-f", ""},
		{"a.p_f", "a.p_f", ""},
		{"a.größe", "a.größe", ""},
		{"a.pdf ", "a.pdf ", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if stem, ext := splitExt(tt.name); stem != tt.stem || ext != tt.ext {
				t.Fatalf("got %q and %q, want %q and %q", stem, ext, tt.stem, tt.ext)
			}
		})
	}
}

func TestFit(t *testing.T) {
	as := func(n int) string { return strings.Repeat("a", n) }
	tests := []struct {
		name, stem, suffix, ext, want string
	}{
		{"short", "a", " (1)", ".pdf", "a (1).pdf"},
		{"exactly full", as(251), "", ".pdf", as(251) + ".pdf"},
		{"one too many", as(252), "", ".pdf", as(251) + ".pdf"},
		{"the suffix counts", as(300), " (12)", ".pdf", as(246) + " (12).pdf"},
		{"no extension", as(300), "", "", as(255)},
		{"two bytes that fit", as(249) + "ü", "", ".pdf", as(249) + "ü.pdf"},
		{"two bytes cut", as(250) + "ü", "", ".pdf", as(250) + ".pdf"},
		{"three bytes cut", as(249) + "漢", "", ".pdf", as(249) + ".pdf"},
		{"four bytes cut", as(248) + "🗂", "", ".pdf", as(248) + ".pdf"},
		{"four bytes that fit", as(247) + "🗂x", "", ".pdf", as(247) + "🗂.pdf"},
		{"only wide ones", strings.Repeat("漢", 100), " (7)", ".pdf", strings.Repeat("漢", 82) + " (7).pdf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := fit(tt.stem, tt.suffix, tt.ext)
			if got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			if len(got) > Max || !utf8.ValidString(got) {
				t.Fatalf("%q has %d bytes or is no UTF-8", got, len(got))
			}
		})
	}
}

func TestFitWithoutRoomForTheStem(t *testing.T) {
	suffix := strings.Repeat(" (9)", 64)
	if got := fit("a", suffix, ".pdf"); got != suffix+".pdf" {
		t.Fatalf("got %q, want the suffix and the extension alone", got)
	}
}

// among returns a function that reports whether a name is one of these.
func among(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func TestOfDocument(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := []struct {
		test, name, added string
		taken             []string
		want              string
	}{
		{"its own", "a.pdf", ".pdf", nil, "a.pdf"},
		{"its own extension stays", "a.eml", ".pdf", nil, "a.eml"},
		{"an extension is added", "Rechnung 1234-5", ".pdf", nil, "Rechnung 1234-5.pdf"},
		{"what the file holds", "Rechnung", ".json", nil, "Rechnung.json"},
		{"digits are no extension", "Version 1.2", ".pdf", nil, "Version 1.2.pdf"},
		{"nothing to add", "Rechnung", "", nil, "Rechnung"},
		{"used", "a.pdf", ".pdf", []string{"a.pdf"}, "a (42).pdf"},
		{"used after an extension is added", "a", ".pdf", []string{"a.pdf"}, "a (42).pdf"},
		{"the bare name does not count", "a", ".pdf", []string{"a"}, "a.pdf"},
		{"used without extension", "a", "", []string{"a"}, "a (42)"},
		{"used with its id as well", "a.pdf", ".pdf", []string{"a.pdf", "a (42).pdf"}, "a (42) (42).pdf"},
		{"another case is another name", "a.pdf", ".pdf", []string{"A.pdf"}, "a.pdf"},
		{"compared after it is made safe", "a/b.pdf", ".pdf", []string{"a_b.pdf"}, "a_b (42).pdf"},
		{"empty", "", ".pdf", nil, "_.pdf"},
		{"dot", ".", ".pdf", nil, "_.pdf"},
		{"two dots", "..", ".pdf", []string{"__.pdf"}, "__ (42).pdf"},
		{"dot without extension", ".", "", nil, "_"},
		{"only an extension", ".pdf", ".pdf", []string{".pdf"}, " (42).pdf"},
		{"long", long + ".eml", ".pdf", nil, long[:251] + ".eml"},
		{"long, an extension is added", long, ".pdf", nil, long[:251] + ".pdf"},
		{"long and used", long, ".pdf", []string{long[:251] + ".pdf"}, long[:246] + " (42).pdf"},
	}
	for _, tt := range tests {
		t.Run(tt.test, func(t *testing.T) {
			got := OfDocument(&archive.Document{ID: 42, Name: tt.name}, tt.added, among(tt.taken...))
			if got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, want := range map[string]string{
		"LIESMICH": "LIESMICH", "a.pdf": "a.pdf", "a/b": "a_b", "": "_", "Brief vom 3.4": "Brief vom 3.4",
		long: long[:255], long + ".eml": long[:251] + ".eml",
	} {
		if got := Plain(&archive.Document{ID: 42, Name: name}); got != want {
			t.Errorf("the plain name of %q is %q, want %q", name, got, want)
		}
	}
}

func TestOfFolder(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := []struct {
		test, name string
		taken      []string
		want       string
	}{
		{"its own", "Rechnungen", nil, "Rechnungen"},
		{"nothing is added", "2018", nil, "2018"},
		{"used", "2018", []string{"2018"}, "2018 (7)"},
		{"used with its id as well", "2018", []string{"2018", "2018 (7)"}, "2018 (7) (7)"},
		{"a folder has no extension", "Akten.alt", []string{"Akten.alt"}, "Akten.alt (7)"},
		{"unsafe", "Ein/Aus", nil, "Ein_Aus"},
		{"empty", "", []string{"_"}, "_ (7)"},
		{"two dots", "..", nil, "__"},
		{"long", long, nil, long[:255]},
		{"long and used", long, []string{long[:255]}, long[:251] + " (7)"},
	}
	for _, tt := range tests {
		t.Run(tt.test, func(t *testing.T) {
			if got := OfFolder(archive.Folder{ID: 7, Name: tt.name}, among(tt.taken...)); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestToSend(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := []struct {
		test, document, shown, typed, want string
	}{
		{"the same", "a.pdf", "a.pdf", "a.pdf", ""},
		{"another", "a.pdf", "a.pdf", "b.pdf", "b.pdf"},
		{"another extension", "a.pdf", "a.pdf", "a.txt", "a.txt"},
		{"the extension is given up", "a.pdf", "a.pdf", "a", "a"},

		{"the added extension stays as it is", "a", "a.pdf", "a.pdf", ""},
		{"an added extension is not sent", "a", "a.pdf", "b.pdf", "b"},
		{"an added extension that is left out", "a", "a.pdf", "b", "b"},
		{"the own name without what was added", "a", "a.pdf", "a", ""},
		{"an extension that was not added", "a", "a.pdf", "b.txt", "b.txt"},
		{"an added one in front of it", "a", "a.pdf", "b.pdf.txt", "b.pdf.txt"},
		{"digits are no extension", "Version 1.2", "Version 1.2.pdf", "Version 1.3.pdf", "Version 1.3"},
		{"nothing was added", "a", "a", "b", "b"},
		{"nothing was added, an extension is typed", "a", "a", "a.bin", "a.bin"},

		{"the suffix stays as it is", "a.pdf", "a (42).pdf", "a (42).pdf", ""},
		{"a suffix is not sent", "a.pdf", "a (42).pdf", "b (42).pdf", "b.pdf"},
		{"the suffix is left out", "a.pdf", "a (42).pdf", "a.pdf", ""},
		{"another name without the suffix", "a.pdf", "a (42).pdf", "b.pdf", "b.pdf"},
		{"the suffix with another extension", "a.pdf", "a (42).pdf", "a (42).txt", "a.txt"},
		{"the id of another document", "a.pdf", "a (42).pdf", "b (43).pdf", "b (43).pdf"},
		{"parentheses that were not added", "a.pdf", "a.pdf", "a (42).pdf", "a (42).pdf"},
		{"suffix without extension", "a", "a (42)", "b (42)", "b"},

		{"a suffix of its own is sent", "a (42).pdf", "a (42).pdf", "b (42).pdf", "b (42).pdf"},
		{"a suffix of its own, and one that was added", "a (42).pdf", "a (42) (42).pdf", "b (42) (42).pdf", "b (42).pdf"},
		{"two suffixes that were added", "a.pdf", "a (42) (42).pdf", "b (42) (42).pdf", "b.pdf"},
		{"two suffixes, one left out", "a.pdf", "a (42) (42).pdf", "a (42).pdf", ""},

		{"suffix and extension", "a", "a (42).pdf", "b (42).pdf", "b"},
		{"suffix and extension, both left out", "a", "a (42).pdf", "b", "b"},
		{"suffix and extension, back to the own name", "a", "a (42).pdf", "a", ""},
		{"suffix and extension, only the suffix left out", "a", "a (42).pdf", "a.pdf", ""},

		{"made safe, with the name as shown", "a/b.pdf", "a_b.pdf", "a_b.pdf", ""},
		{"made safe, without the suffix", "a/b.pdf", "a_b (42).pdf", "a_b.pdf", ""},
		{"made safe, without the extension", "a/b", "a_b.pdf", "a_b", ""},
		{"made safe, another", "a/b", "a_b.pdf", "c.pdf", "c"},
		{"shortened, as shown", long, long[:251] + ".pdf", long[:251] + ".pdf", ""},
		{"shortened, another", long, long[:251] + ".pdf", "b.pdf", "b"},
		{"nothing is left", "a", "a (42).pdf", " (42).pdf", ""},
	}
	for _, tt := range tests {
		t.Run(tt.test, func(t *testing.T) {
			got := ToSend(&archive.Document{ID: 42, Name: tt.document}, tt.shown, tt.typed)
			if got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestToSendNeverSendsWhatWasAdded(t *testing.T) {
	for _, own := range []string{"a", "a.pdf", "a (42)", "a (42).pdf", "Version 1.2", "a/b", "..", ""} {
		doc := &archive.Document{ID: 42, Name: own}
		plain := OfDocument(doc, ".pdf", among())
		for _, taken := range [][]string{nil, {plain}} {
			shown := OfDocument(doc, ".pdf", among(taken...))
			if got := ToSend(doc, shown, shown); got != "" {
				t.Errorf("%q shown as %q and moved without another name: %q is sent", own, shown, got)
			}
			if got := ToSend(doc, shown, plain); got != "" {
				t.Errorf("%q shown as %q and moved as %q: %q is sent", own, shown, plain, got)
			}
		}
	}
}

func TestNumbered(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tt := range []struct {
		name  string
		taken []string
		want  string
	}{
		{"a.pdf", nil, "a.pdf"},
		{"a.pdf", []string{"a.pdf"}, "a (2).pdf"},
		{"a", []string{"a", "a (2)"}, "a (3)"},
		{long + ".pdf", nil, long[:251] + ".pdf"},
		{long + ".pdf", []string{long[:251] + ".pdf"}, long[:247] + " (2).pdf"},
	} {
		if got := Numbered(tt.name, among(tt.taken...)); got != tt.want {
			t.Errorf("%q is numbered as %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPrefixed(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, want := range map[string]string{"a.pdf": "7 a.pdf", "a/b": "7 a_b", "": "7 _", long + ".pdf": "7 " + long[:249] + ".pdf"} {
		if got := Prefixed("7", name); got != want {
			t.Errorf("%q is prefixed as %q, want %q", name, got, want)
		}
	}
}

func TestIsExtended(t *testing.T) {
	for _, tt := range []struct {
		plain, shown string
		want         bool
	}{
		{"a", "a.pdf", true},
		{"a", "a", true},
		{"a", "a (42).pdf", false},
		{"a", "b.pdf", false},
		{"Version 1.2", "Version 1.2.pdf", true},
	} {
		if got := IsExtended(tt.plain, tt.shown); got != tt.want {
			t.Errorf("%q, shown as %q, is extended: %v", tt.plain, tt.shown, got)
		}
	}
}

func FuzzOfDocument(f *testing.F) {
	for _, name := range []string{"", ".", "..", "a", "a.pdf", "a/b\x00.pdf", ".pdf", strings.Repeat("ü", 200), "\xff\xfe.x", "a (42).pdf"} {
		f.Add(name, ".pdf", int64(42), uint8(3))
		f.Add(name, "", int64(-1<<63), uint8(0))
	}
	f.Fuzz(func(t *testing.T, name, added string, id int64, before uint8) {
		if _, ext := splitExt("x" + added); ext != added {
			t.Skip("not an extension")
		}
		doc := &archive.Document{ID: archive.ID(id), Name: name}
		names := map[string]bool{}
		taken := func(name string) bool { return names[name] }
		for range before % 5 {
			names[OfDocument(doc, added, taken)] = true
		}
		for kind, got := range map[string]string{
			"document": OfDocument(doc, added, taken),
			"folder":   OfFolder(archive.Folder{ID: doc.ID, Name: name}, taken),
		} {
			switch {
			case got == "", got == ".", got == "..":
				t.Errorf("%s %q is shown as %q", kind, name, got)
			case strings.ContainsAny(got, "/\x00"):
				t.Errorf("%s %q is shown as %q, with a slash or NUL", kind, name, got)
			case len(got) > Max:
				t.Errorf("%s %q is shown with %d bytes", kind, name, len(got))
			case utf8.ValidString(name) && !utf8.ValidString(got):
				t.Errorf("%s %q is shown as %q, which is no UTF-8", kind, name, got)
			case names[got]:
				t.Errorf("%s %q is shown as %q, which is used", kind, name, got)
			}
		}
		shown := OfDocument(doc, added, taken)
		if sent := ToSend(doc, shown, shown); sent != "" {
			t.Errorf("%q shown as %q and moved without another name: %q is sent", name, shown, sent)
		}
	})
}

func FuzzSplitExt(f *testing.F) {
	for _, name := range []string{"", ".", "a.pdf", "a.123", "a.b.c", ".x", "ü.ü"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		stem, ext := splitExt(name)
		if stem+ext != name {
			t.Fatalf("%q is split into %q and %q", name, stem, ext)
		}
		if ext == "" {
			return
		}
		if len(ext) < 2 || len(ext) > 11 || ext[0] != '.' || !alnum(ext[1:]) || strings.Trim(ext[1:], "0123456789") == "" {
			t.Fatalf("%q has the extension %q", name, ext)
		}
	})
}

// A name that needs no change is not copied.
func TestNamesAreShared(t *testing.T) {
	free := func(string) bool { return false }
	doc := &archive.Document{ID: 1, Name: strings.Repeat("Rechnung ", 5) + "1.pdf"}
	folder := archive.Folder{ID: 1, Name: strings.Repeat("Akten ", 5)}
	allocs := testing.AllocsPerRun(100, func() {
		if OfDocument(doc, ".txt", free) != doc.Name || Plain(doc) != doc.Name || OfFolder(folder, free) != folder.Name {
			t.Fatal("another name")
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestComposed(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "a.pdf": "a.pdf", "Größe": "Größe", "Gro\u0308ße": "Größe", "U\u0308bergröße": "Übergröße", "\u212b": "Å",
		"\xff.pdf": "\xff.pdf", "\u1112\u1161\u11ab": "한", "ﬁ": "ﬁ", "q\u0307\u0323": "q\u0323\u0307",
	} {
		if got := Composed(name); got != want {
			t.Errorf("%+q is composed as %+q, want %+q", name, got, want)
		}
		if HasForms(want) != HasForms(name) {
			t.Errorf("%+q has forms: %t", name, HasForms(name))
		}
	}
}
