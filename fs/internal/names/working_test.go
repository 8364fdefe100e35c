package names

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestWorkingNames(t *testing.T) {
	tests := []struct {
		want  Working
		names []string
	}{
		{Certain, []string{".DS_Store", "._Rechnung.pdf", "._", ".apdisk"}},
		{Real, []string{".ds_store", "DS_Store", ".DS_Store.pdf", "_.pdf"}},
		{Certain, []string{"Thumbs.db", "thumbs.db", "THUMBS.DB", "ehthumbs.db", "desktop.ini", "Desktop.ini", "DESKTOP.INI"}},
		{Real, []string{"Thumbs.db.pdf", "Thumb.db", "my desktop.ini", "desktop.init"}},
		{Certain, []string{".directory", ".hidden"}},
		{Real, []string{"directory", ".directory.pdf", "hidden", ".hidden.txt", ".Directory"}},
		{Certain, []string{".~lock.Brief.odt#", ".~lock.#", ".~Brief.docx"}},
		{Real, []string{"~lock.Brief.odt#", "Brief.odt#"}},
		{Certain, []string{"~$Brief.docx", "~$", "~WRD0000.tmp", "~WRL0001.tmp", "~DF3A4B.tmp", "brief.docx~RF1a2b3c.TMP", "Word Work File D_12.tmp"}},
		{Real, []string{"$Brief.docx", "~Brief.docx", "a~$b.docx", "~WRD0000.docx"}},
		{Certain, []string{"ppt1A2B.tmp", "7A1E0B4D.tmp", "00000001.tmp", "AB12C3.tmp", "1A2B3C4.tmp"}},
		{Doubtful, []string{"ppt-Vorlage.tmp", "7a1e0b4d.tmp", "BRIEFEAB.tmp", "Brief.tmp", "12345.tmp", "5F2B3C00", "12AB3456", "CEDD4100", "9A0000BE"}},
		{Real, []string{"7A1E0B4D.pdf", "7a1e0b4d", "20260131", "B1234567", "1234567A", "A123456B", "DEADBEEF", "CEDD410", "cedd4100", "pptx.pptx"}},
		{Certain, []string{"plan.dwl", "plan.dwl2", "x~a~b.idlk", "kunden.laccdb", "plan_1_1_1234.sv$", "plan.ac$"}},
		{Real, []string{"plan.dwg", "plan.bak", "kunden.accdb"}},
		{Certain, []string{"scan.pdf.part", ".part", "scan.crdownload", "Unconfirmed 12345.crdownload", "scan.pdf.download", "a.opdownload", "a.pdf.filepart", "a.iso.aria2", "a.zip.tmp", ".in.scan.pdf.", ".in.scan.pdf", "a.iso.aria2__temp", "atmp4711", "a.pdf.~qpdf-temp#", "a.pdf.~qpdf-orig#", "a.pdf_exiftool_tmp", ".xdp-a.kdbx.PphzRP-BErgPX", "a.iso.lftp-pget-status"}},
		{Doubtful, []string{"Motor.part", "Film.download"}},
		{Certain, []string{"a.pdf.1f2e.ffs_tmp", ".sync.ffs_db", ".sync.ffs_lock", "brief.docx.crswap", ".localized", "PhotoThumb.db"}},
		{Real, []string{"scan.part.pdf", "part", "scan.parts", "scan.PART", "crdownload", "scan.downloads", "aria2"}},
		{Certain, []string{"a.pdf.1a2b3c4d.partial"}},
		{Real, []string{"a.pdf.partial", "a.partial", ".1a2b3c4d.partial"}},
		{Certain, []string{".goutputstream-X1Y2Z3", ".goutputstream-"}},
		{Real, []string{"goutputstream-X1Y2Z3", ".goutputstream"}},
		{Certain, []string{".Brief.txt.swp", "Brief.swp", ".swp", ".Brief.txt.swo", ".Brief.txt.swa", ".Brief.txt.swpx", ".Brief.txt.swx", ".brief.txt.kate-swp"}},
		{Real, []string{"Brief.swp.txt", "swp", "Brief.swpx", "Brief.swo", ".Brief.swz", ".swo", "a.kate-swp"}},
		{Certain, []string{"Brief.txt~", "Brief.txt.~1~", "Brief.~12~"}},
		{Doubtful, []string{"Skizze~", "~"}},
		{Real, []string{"~Brief.txt", "Brief~.txt", "Brief~1.txt"}},
		{Certain, []string{".#brief.txt", ".#-emacsAb3dEf", "#brief.txt#", "##", "DEADJOE", "brief.txt.save", "brief.txt.save.1"}},
		{Real, []string{"#brief.txt", "brief.txt#", "#1", "#", "brief.save", "brief.save.txt", "Brief.2024.save"}},
		{Certain, []string{".fuse_hidden0000000100000001", ".fuse_hidden", ".nfs00000000004a1c0100000001", ".smbdeleteAAA4f2c"}},
		{Real, []string{"fuse_hidden00000001", ".fuse-hidden00000001", ".nfs", ".smbclient"}},
		{Certain, []string{".Rechnung.pdf.Ab3xYz", ".a.1b2C3d", ".Brief.docx.aBcDef"}},
		{Real, []string{".Rechnung.pdf.Ab3xY", ".Rechnung.pdf.Ab3xYz7", ".Rechnung.pdf.Ab3-Yz", "..abcdef", "..Ab3xYz", ".Ab3xYz", ".Rechnung.pdf"}},
		{Real, []string{".bashrc.backup", ".env.sample", ".a.123456", ".a.202401", ".Brief.docx.ABCDEF", ".Brief.Januar", ".a.Jan202"}},
		{Doubtful, []string{"Rechnung.pdf.Ab3xYz", "brief.txt.6G98Y3", "qt.txt.DoIVyG", "brief.txt.ab12cd"}},
		{Real, []string{"brief.txt.backup", "brief.pdf.signed", "Brief.Ab3xYz", "Angebot.221126", "brief.txt.123456"}},
		{Certain, []string{"sedAb3xYz", "sed1a2B3c"}},
		{Real, []string{"sed", "sedAb3xY", "sedAb3xYz7", "sedAb.txt", "sed-Ab3xY", "SedAb3xYz", "sedáéíóúñ", "a sedAb3xYz", "sedimente", "sed123456", "sed2024ab"}},
		{Certain, []string{"ziAb3xYz", "zi0a0A0b"}},
		{Real, []string{"zi", "ziAb3xY", "ziAb3xYz7", "zi 2024 a", "zi.a.txt", "Ziegel24", "ziäöüäöü", "zinssatz", "zimmer01", "zimmer2B", "ziegel24", "zi000000"}},
		{Certain, []string{".org.chromium.Chromium.a1B2c3", ".org.chromium.Chromium."}},
		{Real, []string{"org.chromium.Chromium", ".org.chromium.Chromium"}},
		{Certain, []string{"lu12345abcde.tmp", "lu.tmp"}},
		{Doubtful, []string{"Lu12345.tmp", "a lu1.tmp", "WRD0000.tmp", "7A1E0.tmp", "7A1E0B4D0.tmp", ".tmpAbC123", "brief.txt.tmp.4711", "brief.txt.tmp-17a"}},
		{Real, []string{"lu12345", "tmp", "Brief.tmpl"}},
		{Certain, []string{"Brief.pdf.trashinfo", "Brief.pdf.trashinfo.AB12CD", ".trashinfo"}},
		{Real, []string{"trashinfo", "Brief.trashinf"}},
		{Certain, []string{".unison.brief.txt.0123456789abcdef0123456789abcdef.unison.tmp", ".~tmp~", ".rsync-partial"}},
		{Real, []string{"unison.brief.txt", "rsync-partial", "~tmp"}},
		{Certain, []string{".syncthing.a.pdf.tmp", "~syncthing~a.pdf.tmp", ".stfolder", ".sync_1a2b.db", ".sync_1a2b.db-wal", ".owncloudsync.log", ".a.pdf.~1f2e", "a.pdf.~1A2B3C4D"}},
		{Real, []string{"syncthing", ".syncthing", "sync_1.db", "a.~x"}},
		{Certain, []string{"brief.docx.sb-6d6ce842-tI5oYC", "(A Document Being Saved By Preview)", ".TemporaryItems"}},
		{Real, []string{"brief.docx.sb-6d6ce842-tI5oY", "brief.docx.sb-6d6ce8-tI5oYC", ".sb-6d6ce842-tI5oYC", "A Document Being Saved By Preview"}},
		{Certain, []string{".Trash-1000", ".Trash-", ".Trashes", ".Spotlight-V100", ".fseventsd", ".sh_thumbnails", "scan.LCK"}},
		{Real, []string{".Trash", "Trash-1000", ".trashes", ".Trashes2", ".Spotlight-V1", ".fsevents", "sh_thumbnails", "RECYCLE.BIN"}},
		{Real, []string{"Rechnung 1234-5", "VRE1079512.pdf", "4913", "a", " ", "", "Größe.pdf", ".bashrc", "[a].pdf", `a\b`}},
	}
	for _, tt := range tests {
		for _, name := range tt.names {
			if got := (*Rules)(nil).File(name); got != tt.want {
				t.Errorf("%q is %v, want %v", name, got, tt.want)
			}
		}
	}
}

func TestWorkingDirectories(t *testing.T) {
	tests := map[string]bool{
		".Trash-1000": true, ".Trashes": true, ".Spotlight-V100": true, ".fseventsd": true, ".sh_thumbnails": true,
		".~tmp~": true, ".rsync-partial": true, ".stfolder": true, ".stversions": true, ".sync": true,
		".unison.neu.0123456789abcdef0123456789abcdef.unison.tmp": true,
		"brief.docx.sb-6d6ce842-tI5oYC":                           true, "(A Document Being Saved By Preview)": true, ".TemporaryItems": true,
		"Brief.pdf.download": true, "scan.LCK": true, ".::TMPNAME:D:42": true, "@eaDir": true, "$Recycle.Bin": true,
		".Trash": false, "Trash-1000": false, ".DS_Store": false, // a folder of that name is somebody's own
		"Akten~": false, "2018.part": false, "sedAb3xYz": false, "Rechnungen": false, "scan.XSM": false, "": false, "a.tmp": false,
	}
	for name, want := range tests {
		if got := (*Rules)(nil).Directory(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// A program that makes a file as mkstemp(3) does renames it later, whatever its name is.
func TestNamesOfFilesAsTheyAreCreated(t *testing.T) {
	const mkstemp, cp = os.O_RDWR | os.O_CREATE | os.O_EXCL, os.O_WRONLY | os.O_CREATE | os.O_EXCL
	tests := []struct {
		name  string
		flags int
		mode  uint32
		want  Working
	}{
		{".bashrc.backup", mkstemp, 0o600, Certain},
		{"sedimente", mkstemp | syscall.O_CLOEXEC, 0o600, Certain},
		{".bashrc.backup", cp, 0o600, Real},
		{".bashrc.backup", mkstemp, 0o644, Doubtful}, // as GLib makes one
		{"brief.backup", mkstemp, 0o666, Doubtful},
		{"brief.backup", cp, 0o666, Real},
		{"tmpab12cd_x", mkstemp, 0o600, Doubtful},
		{"brief.txt", mkstemp, 0o600, Real},
		{"Rechnung 2024.pdf", mkstemp, 0o600, Real},
		{"brief.1234567890.txt", mkstemp, 0o600, Doubtful}, // as Go and Node make one
		{".brief-aB3xY9.txt", mkstemp, 0o600, Doubtful},
		{"brief.1234567890.txt", cp, 0o600, Real},
		{"brief.txt", mkstemp, 0o666, Real},
		{"brief.txt.part", mkstemp, 0o600, Certain},
	}
	for _, tt := range tests {
		if got := (*Rules)(nil).Created(tt.name, uint32(tt.flags), tt.mode); got != tt.want {
			t.Errorf("%q, flags %#x, mode %#o: %v, want %v", tt.name, tt.flags, tt.mode, got, tt.want)
		}
	}
}

func TestUsersOwnLocalNames(t *testing.T) {
	rules, err := NewRules([]string{"*.bak", "Entwurf ?", "~arbeit"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"plan.bak": true, "Entwurf 1": true, "Entwurf 12": false, "~arbeit": true, "plan.pdf": false, ".DS_Store": true} {
		if got := rules.Stays(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if !rules.Directory("~arbeit") || rules.Directory(".DS_Store") {
		t.Error("a name of the user is that of directories, too")
	}
	for _, wrong := range []string{"", "*", "**", "?*", "a/b", "[", "a[b"} {
		if _, err := NewRules([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
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

// The reference lists the table.
func TestWorkingNamesAreDocumented(t *testing.T) {
	reference, err := os.ReadFile("../../../docs/REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range table {
		r := &table[i]
		if !strings.Contains(string(reference), r.program) {
			t.Errorf("docs/REFERENCE.md lacks what %s works under", r.program)
		}
		for _, p := range r.patterns {
			if !strings.Contains(string(reference), "`"+p+"`") {
				t.Errorf("docs/REFERENCE.md lacks `%s` of %s", p, r.program)
			}
		}
	}
}

func FuzzWorking(f *testing.F) {
	for _, name := range []string{".DS_Store", ".a.123456", "sedAb3xYz", "ziAb3xYz", "[", "", "\xff", ".", ".sb-", ".save.", "~"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		rules := (*Rules)(nil)
		if created := rules.Created(name, syscall.O_WRONLY, 0o600); created != rules.File(name) {
			t.Fatalf("%q is %v, and %v as it is created", name, rules.File(name), created)
		}
		if rules.Stays(name) != (rules.File(name) == Certain) {
			t.Fatalf("%q", name)
		}
		rules.Directory(name)
	})
}
