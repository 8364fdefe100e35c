package fs

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// maxName is the longest file name in bytes (NAME_MAX, limits.h).
const maxName = 255

// safeName turns a name of the service into one that a directory can hold: "/" and NUL
// become "_", and so do an empty name, "." and "..".
func safeName(name string) string {
	switch name {
	case "":
		return "_"
	case ".":
		return "_"
	case "..":
		return "__"
	}
	return strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return '_'
		}
		return r
	}, name)
}

// splitExt splits name before its extension: the last dot and the 1 to 10 ASCII letters
// or digits behind it, one of them a letter. Without one, ext is empty.
func splitExt(name string) (stem, ext string) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return name, ""
	}
	tail := name[dot+1:]
	if len(tail) < 1 || len(tail) > 10 {
		return name, ""
	}
	letter := false
	for i := range len(tail) {
		c := tail[i]
		switch {
		case c >= '0' && c <= '9':
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			letter = true
		default:
			return name, ""
		}
	}
	if !letter {
		return name, ""
	}
	return name[:dot], name[dot:]
}

// fit puts stem, suffix and ext together in at most maxName bytes by shortening the
// stem, never inside a UTF-8 sequence.
func fit(stem, suffix, ext string) string {
	room := maxName - len(suffix) - len(ext)
	if len(stem) > room {
		cut := max(room, 0)
		for cut > 0 && !utf8.RuneStart(stem[cut]) {
			cut--
		}
		stem = stem[:cut]
	}
	return stem + suffix + ext
}

// idSuffix is what tells two entries of one name apart.
func idSuffix(id archive.ID) string {
	return " (" + strconv.FormatInt(int64(id), 10) + ")"
}

// folderName is the name under which a folder is shown where taken says which names are
// used already.
func folderName(f archive.Folder, taken func(string) bool) string {
	name := safeName(f.Name)
	return freeName(name, name, "", f.ID, taken)
}

// documentName is the name under which a document is shown: its own, with ext added
// when it has no extension, and told apart from what is there already by its id.
func documentName(d *archive.Document, ext string, taken func(string) bool) string {
	name := safeName(d.Name)
	stem, own := splitExt(name)
	if own != "" {
		ext = own
	}
	return freeName(name, stem, ext, d.ID, taken)
}

// plainName is the name that the service has for a document, as a directory can hold it:
// without an extension or an id that was added.
func plainName(d *archive.Document) string {
	name := safeName(d.Name)
	stem, ext := splitExt(name)
	return fitWhole(name, stem, ext)
}

// fitWhole is fit without a suffix of the parts of a name, with or without an extension that
// was added. What needs no change is name itself: what is shown as it is called takes no
// memory for its name.
func fitWhole(name, stem, ext string) string {
	if len(stem)+len(ext) == len(name) && len(name) <= maxName {
		return name
	}
	return fit(stem, "", ext)
}

func freeName(name, stem, ext string, id archive.ID, taken func(string) bool) string {
	shown, suffix := fitWhole(name, stem, ext), ""
	for taken(shown) {
		suffix += idSuffix(id)
		shown = fit(stem, suffix, ext)
	}
	return shown
}

// nameToSend is the document name that the service is told when an entry shown as shown,
// of the document doc, is given the name typed. Suffixes and extensions that only the
// mount added are taken off again; empty means that the document keeps its name.
func nameToSend(doc *archive.Document, shown, typed string) string {
	stem, ext := splitExt(typed)
	shownStem, shownExt := splitExt(shown)
	ownStem, own := splitExt(safeName(doc.Name))
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
	if name == doc.Name || name == safeName(doc.Name) || name == "" {
		return ""
	}
	return name
}
