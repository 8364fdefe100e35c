// Package xattr defines the extended attributes of an archive in one table: their names, where their values come from,
// on what they can be set, and what setting them does. It also converts names and values (xattr(7)).
//
// It keeps no state and makes no errno. Only Change sends requests, through the Service that it is given. Names begin
// with Prefix. Parsing a formatted name or value gives the same attribute or value back. Errors wrap one of the
// package's, so that a caller can tell a wrong value from an unknown name.
package xattr

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// Prefix begins the name of every attribute of the archive.
const Prefix = "user.archive."

// user is the namespace of Prefix.
const user = "user."

// MaxName is the longest name in bytes (XATTR_NAME_MAX, linux/limits.h).
const MaxName = 255

// inherited follows Prefix in the name of a directory's default.
const inherited = "upload."

// Attr is one attribute. It is comparable.
type Attr struct {
	row *row
	// Key is the metadata key of metadata.KEY, else empty.
	Key string
	// Default: the attribute is upload.NAME of a directory, the default for files that are put in or below it.
	Default bool
}

// Parse returns the attribute of that name. The error wraps ErrUnknown for another name under Prefix, ErrForeign for
// one elsewhere in the user namespace and ErrNamespace for one in security, system, trusted or any other namespace.
func Parse(name string) (Attr, error) {
	rest, ours := strings.CutPrefix(name, Prefix)
	switch {
	case ours:
	case strings.HasPrefix(name, user):
		return Attr{}, fmt.Errorf("%q: %w", name, ErrForeign)
	default:
		return Attr{}, fmt.Errorf("%q: %w", name, ErrNamespace)
	}
	rest, isDefault := strings.CutPrefix(rest, inherited)
	for i := range table {
		r := &table[i]
		key, found := strings.CutPrefix(rest, r.name)
		if !found || isDefault && !r.inherited {
			continue
		}
		if r.keyed {
			key, found = strings.CutPrefix(key, ".")
		}
		if found && r.keyed == (key != "") {
			return Attr{row: r, Key: unescape(key), Default: isDefault}, nil
		}
	}
	return Attr{}, fmt.Errorf("%q: %w", name, ErrUnknown)
}

// All returns the names of all attributes without Prefix, in the order of the table; the defaults
// of directories are last. KEY stands for a key.
func All() []string {
	var names, defaults []string
	for i := range table {
		name := table[i].name
		if table[i].keyed {
			name += ".KEY"
		}
		names = append(names, name)
		if table[i].inherited {
			defaults = append(defaults, inherited+name)
		}
	}
	return append(names, defaults...)
}

// Name returns the attribute's name. A long key makes it longer than MaxName.
func (a Attr) Name() string { return Prefix + a.short() }

// short is the name without Prefix.
func (a Attr) short() string {
	if a.row == nil {
		return ""
	}
	name := a.row.name
	if a.Default {
		name = inherited + name
	}
	if a.row.keyed {
		name += "." + escape(a.Key)
	}
	return name
}

// Listed reports whether listxattr shows the attribute if it has a value. Attributes that cost a
// request are not listed, nor are names longer than the kernel allows.
func (a Attr) Listed() bool {
	return !a.row.unlisted && len(a.Name()) <= MaxName
}

// On returns the access to the attribute on n.
func (a Attr) On(n Node) Access {
	switch {
	case a.row == nil || n >= nodeEnd:
		return None
	case !a.Default:
		return a.row.access[n]
	case n.IsDirectory():
		return Writable
	}
	return None
}

// Data returns the function that reads the attribute from document data (specification, endpoint
// 8), nil if the attribute is known without.
func (a Attr) Data() func(archive.DocumentData) ([]byte, error) { return a.row.data }

// Check returns an error that wraps ErrValue or ErrTooBig if v is no value of the attribute, which must be settable.
func (a Attr) Check(v []byte) error {
	check := a.row.check
	if check == nil {
		check = func(v []byte) error { return Draft{new(archive.Attributes), new(bool)}.Set(a, v) }
	}
	if err := check(v); err != nil {
		return fmt.Errorf("%s: %w", a.row.name, err)
	}
	return nil
}

// Here reports whether this machine knows the attribute, so that it is read without a request.
func (a Attr) Here() bool { return a.row.here }

// checkKeep refuses values other than KeepOn and KeepOff.
func checkKeep(v []byte) error {
	text, err := ParseText(v)
	if err == nil && text != KeepOn && text != KeepOff {
		err = fmt.Errorf("neither %s nor %s: %w", KeepOn, KeepOff, ErrValue)
	}
	return err
}

// checkRetry refuses values that do not retry anything.
func checkRetry(v []byte) error {
	if string(v) == RetryIncomplete {
		return nil
	}
	_, err := ParseBool(v)
	return err
}

// MaxValue is the longest value in bytes (XATTR_SIZE_MAX, linux/limits.h).
const MaxValue = 64 << 10

// Sized returns v, or ErrTooBig if it is longer than MaxValue.
func Sized(v []byte) ([]byte, error) {
	if len(v) > MaxValue {
		return nil, fmt.Errorf("%d bytes: %w", len(v), ErrTooBig)
	}
	return v, nil
}

// ParseText returns the text of v: UTF-8 without NUL, of at most MaxValue bytes. It ignores one
// newline at the end, and the NUL of a C string.
func ParseText(v []byte) (string, error) {
	if _, err := Sized(v); err != nil {
		return "", err
	}
	v = bytes.TrimSuffix(bytes.TrimSuffix(v, []byte{0}), []byte("\n"))
	switch {
	case bytes.IndexByte(v, 0) >= 0:
		return "", fmt.Errorf("NUL in a text: %w", ErrValue)
	case !utf8.Valid(v):
		return "", fmt.Errorf("not UTF-8: %w", ErrValue)
	}
	return string(v), nil
}

// ParseBool returns the value of v, which is true or false. ParseText describes the text.
func ParseBool(v []byte) (bool, error) {
	text, err := ParseText(v)
	if err != nil {
		return false, err
	}
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("neither true nor false: %w", ErrValue)
}

// parseFlag is ParseBool; nil means unset.
func parseFlag(v []byte) (archive.Flag, error) {
	if v == nil {
		return archive.FlagUnknown, nil
	}
	b, err := ParseBool(v)
	return archive.FlagOf(b), err
}

// FormatTime writes t in RFC 3339, to the second, in t's zone.
func FormatTime(t time.Time) []byte {
	return t.AppendFormat(nil, time.RFC3339)
}

// escape writes the percent sign, control characters (NUL included) and invalid UTF-8 as %XX, as
// URIs do (RFC 3986, section 2.1). Other characters stay unchanged.
func escape(key string) string {
	if utf8.ValidString(key) && !strings.ContainsFunc(key, reserved) {
		return key
	}
	var b strings.Builder
	for i, w := 0, 0; i < len(key); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(key[i:])
		if reserved(r) || r == utf8.RuneError && w == 1 {
			for _, c := range []byte(key[i : i+w]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteString(key[i : i+w])
	}
	return b.String()
}

// reserved reports whether a character is escaped.
func reserved(r rune) bool { return r == '%' || unicode.IsControl(r) }

// unescape turns every %XX into its byte. A percent sign without two hexadecimal digits stays
// unchanged, because people type such names.
func unescape(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			if c, err := strconv.ParseUint(name[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// ParseKeywords returns the keywords of a comma-separated list. Inside a keyword `\,` is a comma
// and `\\` a backslash; any other backslash is itself. White space around keywords is trimmed, and
// empty keywords are ignored. Document types are written in the same way.
func ParseKeywords(v []byte) ([]string, error) {
	text, err := ParseText(v)
	if err != nil {
		return nil, err
	}
	var keywords []string
	for rest, more := text, true; more; {
		var word string
		if word, rest, more, err = cutKeyword(rest); err != nil {
			return nil, err
		}
		if word != "" {
			keywords = append(keywords, word)
		}
	}
	return keywords, nil
}

// cutKeyword returns the first keyword of list, the text after its comma, and whether there was a comma.
func cutKeyword(list string) (word, rest string, more bool, err error) {
	var b strings.Builder
	for i := 0; i < len(list); i++ {
		switch c := list[i]; c {
		case ',':
			return strings.TrimSpace(b.String()), list[i+1:], true, nil
		case '\\':
			i++
			if i == len(list) || list[i] != ',' && list[i] != '\\' {
				return "", "", false, fmt.Errorf(`backslash before neither comma nor backslash: %w`, ErrValue)
			}
			b.WriteByte(list[i])
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String()), "", false, nil
}

// FormatKeywords is the inverse of ParseKeywords. It leaves out keywords of white space only.
func FormatKeywords(keywords []string) []byte {
	escaper := strings.NewReplacer(`\`, `\\`, `,`, `\,`)
	words := make([]string, 0, len(keywords))
	for _, k := range keywords {
		if k = strings.TrimSpace(k); k != "" {
			words = append(words, escaper.Replace(k))
		}
	}
	return []byte(strings.Join(words, ","))
}
