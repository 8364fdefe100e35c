package names

import (
	"slices"
	"strings"
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

// tempSuffix returns the six characters that mkstemp made of a name, empty if no program uses such
// names.
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

// isSaveSuffix is hasSaveSuffix for a file that may have been created in any way: behind an extension,
// and no word.
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

// isNoWord reports whether upper case, lower case and digits alternate as in no word: three times
// or more.
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
