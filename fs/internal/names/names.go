// Package names has the rules for names: how folders and documents are shown, which name the service gets when a user
// renames one, and which names programs use for files that are not documents.
//
// The names that it makes fit into a directory: not empty, without "/" and NUL, at most Max bytes,
// and never cut inside a character. The same documents get the same names in every mount. It knows
// no directories: callers say which names are taken.
package names

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/archivefs/archivefs/archive"
)

// behindExtension returns the shape of one of the suffixes behind a name that has an extension, as in
// brief.pdf.part. Without an extension it may be a document's own (Motor.part).
func behindExtension(suffixes ...string) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(suffixes, func(suffix string) bool {
			of, ok := strings.CutSuffix(name, suffix)
			return ok && len(Ext(of)) > 0
		})
	}
}

// isVimSwap reports whether vim has such a swap file, .NAME.swo: swp is in the table, and while that is
// taken it counts down to swa.
func isVimSwap(name string) bool {
	of, ok := strings.CutPrefix(name, ".")
	at := len(of) - 4
	return ok && at > 0 && of[at:at+3] == ".sw" && of[at+3] >= 'a' && of[at+3] <= 'p'
}

// isNanoSave reports whether nano saves there what it edited when it is killed: NAME.EXT.save, and with a
// number while that is taken.
func isNanoSave(name string) bool {
	of := strings.TrimRight(name, digits)
	if len(of) < len(name) {
		var ok bool
		if of, ok = strings.CutSuffix(of, "."); !ok {
			return false
		}
	}
	of, ok := strings.CutSuffix(of, ".save")
	return ok && Ext(of) != ""
}

const (
	digits   = "0123456789"
	upperHex = digits + "ABCDEF"
	anyHex   = upperHex + "abcdef"
)

// consists reports whether s has from least to most characters, all of them of a set.
func consists(s, of string, least, most int) bool {
	return len(s) >= least && len(s) <= most && strings.Trim(s, of) == ""
}

// isOfficeTemp reports whether Excel or AutoCAD (six to eight upper-case hexadecimal digits) or
// PowerPoint (four behind ppt) writes under that name.
func isOfficeTemp(name string) bool {
	of, ok := strings.CutSuffix(name, ".tmp")
	point, isPoint := strings.CutPrefix(of, "ppt")
	return ok && (consists(of, upperHex, 6, 8) || isPoint && consists(point, upperHex, 4, 4))
}

// isAutoCADTemp reports whether AutoCAD writes a drawing under that name: atmp and digits.
func isAutoCADTemp(name string) bool {
	number, ok := strings.CutPrefix(name, "atmp")
	return ok && consists(number, digits, 1, 8)
}

// isExcelTemp reports whether Excel writes a workbook under this name, or takes the old one out of the
// way: eight hexadecimal digits, as CEDD4100. In numbers of invoices one letter is in front or at the end.
func isExcelTemp(name string) bool {
	return consists(name, upperHex, 8, 8) && changesOfKind(name[1:7]) > 0
}

// isRclonePartial reports whether rclone writes under that name: NAME.XXXXXXXX.partial.
func isRclonePartial(name string) bool {
	of, ok := strings.CutSuffix(name, ".partial")
	dot := strings.LastIndexByte(of, '.')
	return ok && dot > 0 && consists(of[dot+1:], anyHex, 8, 8)
}

// isOwnCloudTemp reports whether the client of ownCloud or Nextcloud writes under that name: NAME.~XXXXXXXX.
func isOwnCloudTemp(name string) bool {
	at := strings.LastIndex(name, ".~")
	return at > 0 && consists(name[at+2:], anyHex, 4, 8)
}

// isSafeSave reports whether macOS saves a document under that name, or in such a directory:
// NAME.sb-XXXXXXXX-XXXXXX. Safari's directory is NAME.download.
func isSafeSave(name string) bool {
	at := strings.LastIndex(name, ".sb-")
	if at <= 0 {
		return false
	}
	hex, rest, ok := strings.Cut(name[at+len(".sb-"):], "-")
	return ok && consists(hex, anyHex, 8, 8) && len(rest) == 6 && alnum(rest)
}

// Some programs write to a file with a name of mkstemp(3) and rename it later. Its six characters
// can look like a word, as in .bashrc.backup or zinssatz. So such a name counts only if the file is
// also created as mkstemp does it, or if the characters are no word.

// tempPrefixes are the prefixes of the six characters; rsync puts them behind ".NAME.".
var tempPrefixes = []string{"sed", "zi"} // sed -i, zip

// tempSuffix returns the six characters that mkstemp made of a name, empty if no program uses such names.
func tempSuffix(name string) string {
	at := len(name) - 6
	if at < 2 || !alnum(name[at:]) {
		return ""
	}
	prefix := name[:at]
	if slices.Contains(tempPrefixes, prefix) || len(prefix) > 2 && prefix[0] == '.' && prefix[at-1] == '.' {
		return name[at:]
	}
	return ""
}

// hasSaveSuffix reports whether a name ends as GLib and Qt make one for a file that is to replace
// another: a dot and six letters and digits.
func hasSaveSuffix(name string) bool {
	at := len(name) - 7
	return at > 0 && name[at] == '.' && alnum(name[at+1:])
}

// isSaveSuffix is hasSaveSuffix for a file that may have been created in any way: behind an extension, and no word.
func isSaveSuffix(name string) bool {
	if !hasSaveSuffix(name) {
		return false
	}
	stem, ext := splitExt(name[:len(name)-7])
	return stem != "" && ext != "" && changesOfKind(name[len(name)-6:]) >= 2
}

// isUnlikely reports whether a program has made a part of a name up: six or more characters of several
// kinds, seven or more digits, or what stands behind tmp.
func isUnlikely(name string) bool {
	return strings.HasPrefix(name, "tmp") || slices.ContainsFunc(strings.FieldsFunc(name, isSign), func(part string) bool {
		return len(part) >= 6 && changesOfKind(part) >= 2 || consists(part, digits, 7, len(part))
	})
}

// isNoWord reports whether upper case, lower case and digits alternate as in no word: three times or more.
func isNoWord(s string) bool { return changesOfKind(s) >= 3 }

// changesOfKind counts where a character is of another kind than the one before it.
func changesOfKind(s string) (changes int) {
	for i := 1; i < len(s); i++ {
		if kindOf(s[i]) != kindOf(s[i-1]) {
			changes++
		}
	}
	return changes
}

// kindOf distinguishes digits, capitals and small letters.
func kindOf(c byte) int {
	switch {
	case c <= '9':
		return 0
	case c <= 'Z':
		return 1
	}
	return 2
}

func alnum(s string) bool { return !strings.ContainsFunc(s, isSign) }

// isSign reports whether a character is neither an ASCII letter nor a digit.
func isSign(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// Max is the longest file name in bytes (NAME_MAX, limits.h).
const Max = 255

// Composed returns the composed Unicode form of a name (NFC). Names with the same one look the same:
// programs on macOS decompose names (NFD), others compose them, and some do so with parts.
func Composed(name string) string {
	const combining = 0x300 // below it everything is composed
	if !strings.ContainsFunc(name, func(r rune) bool { return r >= combining }) {
		return name
	}
	return norm.NFC.String(name)
}

// HasForms reports whether a name may have several Unicode forms: it is not ASCII.
func HasForms(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}

// forbidden replaces what no name can have in a directory.
var forbidden = strings.NewReplacer("/", "_", "\x00", "_")

// safe turns a name of the service into one that a directory can hold: "/" and NUL become "_", as
// do an empty name, "." and "..".
func safe(name string) string {
	switch name {
	case "", ".":
		return "_"
	case "..":
		return "__"
	}
	return forbidden.Replace(name)
}

// splitExt splits name before its extension: the last dot and the 1 to 10 ASCII letters
// or digits behind it, one of them a letter. Without one, ext is empty.
func splitExt(name string) (stem, ext string) {
	dot := strings.LastIndexByte(name, '.')
	if tail := name[dot+1:]; dot < 0 || len(tail) > 10 || !alnum(tail) || strings.Trim(tail, digits) == "" {
		return name, ""
	}
	return name[:dot], name[dot:]
}

// Ext is the extension of a name with its dot, empty without one.
func Ext(name string) string {
	_, ext := splitExt(name)
	return ext
}

// fit puts stem, suffix and ext together in at most Max bytes by shortening the stem, never inside a UTF-8 sequence.
func fit(stem, suffix, ext string) string {
	if room := Max - len(suffix) - len(ext); len(stem) > room {
		stem = strings.ToValidUTF8(stem[:max(room, 0)], "")
	}
	return stem + suffix + ext
}

// idSuffix distinguishes two entries of the same name.
func idSuffix(id archive.ID) string {
	return " (" + id.String() + ")"
}

// OfFolder returns the name under which a folder is shown. taken reports whether a name is used already.
func OfFolder(f archive.Folder, taken func(string) bool) string {
	name := safe(f.Name)
	return freeName(name, name, "", f.ID, taken)
}

// OfDocument returns the name under which a document is shown: its own, plus ext if it has no
// extension, plus its id if the name is taken.
func OfDocument(d *archive.Document, ext string, taken func(string) bool) string {
	name := safe(d.Name)
	stem, own := splitExt(name)
	if own != "" {
		ext = own
	}
	return freeName(name, stem, ext, d.ID, taken)
}

// Plain returns the service's name of a document, made fit for a directory, without an added extension or id.
func Plain(d *archive.Document) string {
	name := safe(d.Name)
	stem, ext := splitExt(name)
	return fitWhole(name, stem, ext)
}

// fitWhole is fit without a suffix, for the parts of a name and possibly an added extension. A name
// that needs no change is returned itself, so that it takes no further memory.
func fitWhole(name, stem, ext string) string {
	if len(stem)+len(ext) == len(name) && len(name) <= Max {
		return name
	}
	return fit(stem, "", ext)
}

// IsExtended reports whether shown is a plain name and nothing but an extension was added.
func IsExtended(plain, shown string) bool { return shown == fit(plain, "", Ext(shown)) }

// Numbered returns a name, with a number added if taken reports that it is used.
func Numbered(name string, taken func(string) bool) string {
	stem, ext := splitExt(name)
	free := fit(stem, "", ext)
	for n := 2; taken(free); n++ {
		free = fit(stem, " ("+strconv.Itoa(n)+")", ext)
	}
	return free
}

// Prefixed returns a name of the service behind a prefix that makes it unique.
func Prefixed(prefix, name string) string {
	stem, ext := splitExt(safe(name))
	return fit(prefix+" "+stem, "", ext)
}

func freeName(name, stem, ext string, id archive.ID, taken func(string) bool) string {
	shown, suffix := fitWhole(name, stem, ext), ""
	for taken(shown) {
		suffix += idSuffix(id)
		shown = fit(stem, suffix, ext)
	}
	return shown
}

// ToSend returns the name that the service gets when the document doc, shown as shown, is renamed to typed. It removes
// suffixes and extensions that only the mount added; empty means that the document keeps its name.
func ToSend(doc *archive.Document, shown, typed string) string {
	stem, ext := splitExt(typed)
	shownStem, shownExt := splitExt(shown)
	ownStem, own := splitExt(safe(doc.Name))
	if typed == shown || typed == fit(ownStem, "", shownExt) {
		return ""
	}
	suffix := idSuffix(doc.ID)
	for shownStem != ownStem && strings.HasSuffix(shownStem, suffix) { // as often as it was added
		shownStem, stem = strings.TrimSuffix(shownStem, suffix), strings.TrimSuffix(stem, suffix)
	}
	if own == "" && ext == shownExt {
		ext = ""
	}
	name := stem + ext
	if name == doc.Name || name == safe(doc.Name) || name == "" {
		return ""
	}
	return name
}

// Windows says whether names are shown in a form that Windows can open. It drops a dot and a blank at the end
// of a name, and takes some names for devices, with any extension.
type Windows bool

// lasts are last characters, and what is shown for them: what Services for Macintosh had, and the clients of
// macOS and Linux turn back (mount.cifs(8), mapposix).
var lasts = [...][2]string{{" ", "\uf028"}, {".", "\uf029"}}

// device matches the names of devices, apart from what is behind them ("Naming Files, Paths, and Namespaces" of
// Microsoft). They are shown with noDevice there.
var device = regexp.MustCompile(`(?is)^((?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *)(\..*)?$`)

const noDevice = "\uf05f"

// Shown returns the form of a name that is shown.
func (w Windows) Shown(name string) string {
	if !w {
		return name
	}
	shown := device.ReplaceAllString(name, "${1}"+noDevice+"${2}")
	for _, last := range lasts {
		if stem, ok := strings.CutSuffix(shown, last[0]); ok {
			shown = stem + last[1]
		}
	}
	if len(shown) > Max {
		return name
	}
	return shown
}

// Meant returns the name of which a name is the shown form, else the name itself.
func (w Windows) Meant(name string) string {
	meant := strings.Replace(name, noDevice, "", 1)
	for _, last := range lasts {
		if stem, ok := strings.CutSuffix(meant, last[1]); ok {
			meant = stem + last[0]
		}
	}
	if w.Shown(meant) != name {
		return name
	}
	return meant
}
