package xattr

import (
	"fmt"
	"strings"
)

// Prefix begins the name of every attribute of the archive.
const Prefix = "user.archive."

// user is the namespace that Prefix lies in.
const user = "user."

// MaxName is the longest name in bytes (XATTR_NAME_MAX, linux/limits.h).
const MaxName = 255

// Attr is one attribute. It is comparable.
type Attr struct {
	Kind Kind
	// Key is the metadata key of KindMetadata and KindUploadMetadata, else empty.
	Key string
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
	for kind := KindID; kind < kindEnd; kind++ {
		r := &rules[kind]
		if !r.keyed {
			if rest == r.name {
				return Attr{Kind: kind}, nil
			}
			continue
		}
		if key, ok := strings.CutPrefix(rest, r.name); ok && key != "" {
			return Attr{Kind: kind, Key: unescape(key)}, nil
		}
	}
	return Attr{}, fmt.Errorf("%q: %w", name, ErrUnknown)
}

// Name returns the attribute's name. It can be longer than MaxName where a key is.
func (a Attr) Name() string {
	return Prefix + a.rule().name + escape(a.Key)
}

// Listed reports whether the attribute belongs in a listing when it has a value. Those
// that cost a request do not, nor do names that the kernel cannot carry.
func (a Attr) Listed() bool {
	return !a.rule().unlisted && len(a.Name()) <= MaxName
}

// On returns what can be done with the attribute on n.
func (a Attr) On(n Node) Access {
	if n >= nodeEnd {
		return None
	}
	return a.rule().access[n]
}

// rule returns the attribute's line of the table. That of a Kind which does not exist has
// no access to anything.
func (a Attr) rule() *rule {
	if a.Kind >= kindEnd {
		return &rules[0]
	}
	return &rules[a.Kind]
}
