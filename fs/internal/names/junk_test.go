package names

import "testing"

func TestIsJunk(t *testing.T) {
	tests := []struct {
		names []string
		want  bool
	}{
		{[]string{".DS_Store", "._Rechnung.pdf", "._"}, true},
		{[]string{".ds_store", "DS_Store", ".DS_Store.pdf", "_.pdf"}, false},
		{[]string{"Thumbs.db", "thumbs.db", "THUMBS.DB", "desktop.ini", "Desktop.ini", "DESKTOP.INI"}, true},
		{[]string{"Thumbs.db.pdf", "Thumb.db", "my desktop.ini", "desktop.init"}, false},
		{[]string{".directory", ".hidden"}, true},
		{[]string{"directory", ".directory.pdf", "hidden", ".hidden.txt", ".Directory"}, false},
		{[]string{".~lock.Brief.odt#", ".~lock.#"}, true},
		{[]string{".~lock.Brief.odt", "~lock.Brief.odt#", "Brief.odt#"}, false},
		{[]string{"~$Brief.docx", "~$"}, true},
		{[]string{"$Brief.docx", "~Brief.docx", "a~$b.docx"}, false},
		{[]string{"scan.pdf.part", ".part", "scan.crdownload", "Unconfirmed 12345.crdownload", "scan.download"}, true},
		{[]string{"scan.part.pdf", "part", "scan.parts", "scan.PART", "crdownload", "scan.downloads"}, false},
		{[]string{".goutputstream-X1Y2Z3", ".goutputstream-"}, true},
		{[]string{"goutputstream-X1Y2Z3", ".goutputstream"}, false},
		{[]string{".Brief.txt.swp", "Brief.swp", ".swp"}, true},
		{[]string{"Brief.swp.txt", "swp", "Brief.swpx"}, false},
		{[]string{"Brief.txt~", "~"}, true},
		{[]string{"~Brief.txt", "Brief~.txt", "Brief~1.txt"}, false},
		{[]string{".fuse_hidden0000000100000001", ".fuse_hidden"}, true},
		{[]string{"fuse_hidden00000001", ".fuse-hidden00000001"}, false},
		{[]string{".Rechnung.pdf.Ab3xYz", ".a.1b2C3d", ".Brief.docx.aBcDef"}, true},
		{[]string{"Rechnung.pdf.Ab3xYz", ".Rechnung.pdf.Ab3xY", ".Rechnung.pdf.Ab3xYz7", ".Rechnung.pdf.Ab3-Yz", "..abcdef", "..Ab3xYz", ".Ab3xYz", ".Rechnung.pdf"}, false},
		{[]string{".bashrc.backup", ".env.sample", ".a.123456", ".a.202401", ".Brief.docx.ABCDEF", ".Brief.Januar", ".a.Jan202"}, false},
		{[]string{"sedAb3xYz", "sed1a2B3c"}, true},
		{[]string{"sed", "sedAb3xY", "sedAb3xYz7", "sedAb.txt", "sed-Ab3xY", "SedAb3xYz", "sedáéíóúñ", "a sedAb3xYz", "sedimente", "sed123456", "sed2024ab"}, false},
		{[]string{"ziAb3xYz", "zi0a0A0b"}, true},
		{[]string{"zi", "ziAb3xY", "ziAb3xYz7", "zi 2024 a", "zi.a.txt", "Ziegel24", "ziäöüäöü", "zinssatz", "zimmer01", "zimmer2B", "ziegel24", "zi000000"}, false},
		{[]string{".org.chromium.Chromium.a1B2c3", ".org.chromium.Chromium."}, true},
		{[]string{"org.chromium.Chromium.a1B2c3", ".org.chromium.Chromium"}, false},
		{[]string{"lu12345abcde.tmp", "lu.tmp"}, true},
		{[]string{"Lu12345.tmp", "lu12345.tmp.pdf", "lu12345", "a lu1.tmp", "12345.tmp"}, false},
		{[]string{"~WRD0000.tmp", "~WRL0001.tmp", "ppt1A2B.tmp", "7A1E0B4D.tmp", "00000001.tmp", "5F2B3C00", "12AB3456"}, true},
		{[]string{"WRD0000.tmp", "~WRD0000.docx", "pptx.pptx", "7A1E0B4D.pdf", "7a1e0b4d", "20260131", "B1234567", "1234567A", "DEADBEEF", "7a1e0b4d.tmp", "7A1E0B4.tmp", "7A1E0B4D0.tmp", "BRIEFEAB.tmp"}, false},
		{[]string{"Brief.pdf.trashinfo", "Brief.pdf.trashinfo.AB12CD", ".trashinfo"}, true},
		{[]string{"trashinfo", "Brief.trashinf"}, false},
		{[]string{".Trash-1000", ".Trash-", ".Trashes", ".Spotlight-V100", ".fseventsd", ".sh_thumbnails"}, true},
		{[]string{".Trash", "Trash-1000", ".trashes", ".Trashes2", ".Spotlight-V1", ".fsevents", "sh_thumbnails"}, false},
		{[]string{"Rechnung 1234-5", "VRE1079512.pdf", "Brief.tmp", "4913", "a", " ", "Größe.pdf", ".bashrc", "[a].pdf", `a\b`}, false},
	}
	for _, tt := range tests {
		for _, name := range tt.names {
			t.Run(name, func(t *testing.T) {
				if got := IsJunk(name); got != tt.want {
					t.Fatalf("IsJunk(%q) is %v", name, got)
				}
			})
		}
	}
}

func TestIsJunkDir(t *testing.T) {
	tests := map[string]bool{
		".Trash-1000":     true,
		".Trashes":        true,
		".Spotlight-V100": true,
		".fseventsd":      true,
		".sh_thumbnails":  true,
		".Trash":          false,
		"Trash-1000":      false,
		".DS_Store":       false, // a folder of that name is somebody's own
		"Akten~":          false,
		"2018.part":       false,
		"sedAb3xYz":       false,
		"Rechnungen":      false,
	}
	for name, want := range tests {
		if got := IsJunkDir(name); got != want {
			t.Errorf("IsJunkDir(%q) is %v", name, got)
		}
	}
}

func TestIsWorkshop(t *testing.T) {
	for name, want := range map[string]bool{".git": true, "node_modules": true, "git": false, ".Git": false, ".github": false, "CVS": false, "": false} {
		if got := IsWorkshop(name); got != want {
			t.Errorf("IsWorkshop(%q) is %v", name, got)
		}
	}
}

func FuzzIsJunk(f *testing.F) {
	for _, name := range []string{".DS_Store", ".a.123456", "sedAb3xYz", "ziAb3xYz", "[", "", "\xff", "."} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if IsJunkDir(name) && !IsJunk(name) {
			t.Fatalf("%q stays local as a directory and not as a file", name)
		}
		if IsJunk(name) && !IsJunk(name+"~") {
			t.Fatalf("the backup of %q does not stay local", name)
		}
	})
}
