package xattr

import (
	"fmt"
	"strings"

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
	// Default: the attribute is upload.NAME of a directory, the default for files that are put in
	// or below it.
	Default bool
}

// Parse returns the attribute of that name. The error wraps ErrUnknown for another name
// under Prefix, ErrForeign for one elsewhere in the user namespace and ErrNamespace for
// one in security, system, trusted or any other namespace.
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

// Check returns an error that wraps ErrValue or ErrTooBig if v is no value of the attribute, which
// must be settable.
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
