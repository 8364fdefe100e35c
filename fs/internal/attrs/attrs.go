// Package attrs implements getxattr, setxattr, removexattr and listxattr (xattr(7)) by the table of
// package xattr, which says what a name means, whether it can be read or set on a kind of node, and
// which errno it fails with. This package has no list of attributes of its own.
//
// The caller implements Node: it stores the values and carries out changes.
package attrs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/xattr"
)

// Node is a file or a directory with attributes.
type Node interface {
	// Kind returns its column in the table.
	Kind() xattr.Node
	// Subject returns what its attributes are read from.
	Subject(ctx context.Context) (xattr.Subject, error)
	// Change carries out a change that the table allows, to a checked value; nil removes the attribute.
	Change(ctx context.Context, a xattr.Attr, value []byte) error
}

// Described is a Node with document data at the service.
type Described interface {
	Node
	Data(ctx context.Context) (archive.DocumentData, error)
}

// Local is a Node that knows some attributes (xattr.Attr.Here) without what its Subject costs.
type Local interface {
	Node
	// Here returns what these are read from.
	Here() xattr.Subject
}

// Keeper is a Node that also stores attributes of other programs.
type Keeper interface {
	Node
	// Foreign returns them by their full names.
	Foreign() map[string][]byte
	// SetForeign sets one of them; nil removes it.
	SetForeign(name string, value []byte) error
}

// Get returns the value of an attribute. The error is ErrAbsent, ENOTSUP for an unknown name, E2BIG
// for a value that is too long for xattr(7), or an error of n.
func Get(ctx context.Context, n Node, name string) ([]byte, error) {
	a, err := xattr.Parse(name)
	if errors.Is(err, xattr.ErrForeign) {
		if v, ok := foreign(n)[name]; ok {
			return v, nil
		}
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, errno.Of(refused(name, err)) // desktops ask for all kinds of names
	}
	value, err := read(ctx, n, a)
	if err == nil {
		value, err = xattr.Sized(value)
	}
	return value, refused(name, err)
}

func read(ctx context.Context, n Node, a xattr.Attr) ([]byte, error) {
	if d, ok := n.(Described); ok && a.Data() != nil {
		data, err := d.Data(ctx)
		if err != nil {
			return nil, err
		}
		value, err := a.Data()(data)
		if value == nil && err == nil {
			err = ErrAbsent
		}
		return value, err
	}
	s, err := subject(ctx, n, a)
	if err != nil {
		return nil, err
	}
	if value, ok := xattr.Find(s.Values(), a); ok {
		return value, nil
	}
	return nil, ErrAbsent
}

func subject(ctx context.Context, n Node, a xattr.Attr) (xattr.Subject, error) {
	if l, ok := n.(Local); ok && a.Here() {
		return l.Here(), nil
	}
	return n.Subject(ctx)
}

// List returns the names of the attributes that have a value, except those that cost a request each.
func List(ctx context.Context, n Node) ([]string, error) {
	s, err := n.Subject(ctx)
	if err != nil {
		return nil, err
	}
	return append(xattr.Names(s.Values()), slices.Sorted(maps.Keys(foreign(n)))...), nil
}

// Set sets an attribute like setxattr(2), with its flags.
func Set(ctx context.Context, n Node, name string, value []byte, flags int) error {
	a, err := xattr.Parse(name)
	if errors.Is(err, xattr.ErrForeign) && !n.Kind().IsDirectory() {
		return setForeign(n, name, value, flags)
	}
	if err != nil {
		return refused(name, err)
	}
	there, err := has(ctx, n, a)
	if err != nil {
		return err
	}
	if ignore, err := admit(a, n.Kind(), there, flags); ignore || err != nil {
		return err
	}
	if value == nil {
		value = []byte{} // nil removes
	}
	if err := a.Check(value); err != nil {
		return refused(name, err)
	}
	return refused(name, n.Change(ctx, a, value))
}

// Remove removes an attribute. One that a directory never has is refused as by Set.
func Remove(ctx context.Context, n Node, name string) error {
	a, err := xattr.Parse(name)
	if errors.Is(err, xattr.ErrForeign) && !n.Kind().IsDirectory() {
		k, _ := n.(Keeper)
		if _, there := foreign(n)[name]; !there {
			return ErrAbsent
		}
		return k.SetForeign(name, nil)
	}
	if err != nil {
		return refused(name, err)
	}
	there, err := has(ctx, n, a)
	switch {
	case err != nil:
		return err
	case !there && !n.Kind().IsDirectory():
		return ErrAbsent
	}
	if ignore, err := admit(a, n.Kind(), there, unix.XATTR_REPLACE); ignore || err != nil {
		return err
	}
	return refused(name, n.Change(ctx, a, nil))
}

// has reports whether an attribute has a value that is known without a request.
func has(ctx context.Context, n Node, a xattr.Attr) (bool, error) {
	s, err := subject(ctx, n, a)
	if err != nil {
		return false, err
	}
	_, there := xattr.Find(s.Values(), a)
	return there, nil
}

// foreign returns the attributes of other programs that n stores.
func foreign(n Node) map[string][]byte {
	if k, ok := n.(Keeper); ok {
		return k.Foreign()
	}
	return nil
}

// setForeign stores another program's attribute with a local file. Documents cannot store it.
func setForeign(n Node, name string, value []byte, flags int) error {
	k, ok := n.(Keeper)
	if !ok {
		return errno.Refuse(syscall.ENOTSUP, "documents keep no attributes of other programs")
	}
	_, there := k.Foreign()[name]
	if err := expected(there, flags); err != nil {
		return err
	}
	if _, err := xattr.Sized(value); err != nil {
		return refused(name, err)
	}
	return k.SetForeign(name, append([]byte{}, value...))
}

// admit checks a change of an attribute against the current value (setxattr(2) flags) and the
// table. If ignore is returned, the change must succeed without effect.
func admit(a xattr.Attr, node xattr.Node, there bool, flags int) (ignore bool, err error) {
	switch a.On(node) {
	case xattr.None:
		return false, errno.Refuse(syscall.ENOTSUP, "there is no "+archive.Printable(a.Name())+" here")
	case xattr.ReadOnly:
		return false, errno.Refuse(syscall.EPERM, archive.Printable(a.Name())+" cannot be set")
	case xattr.Ignored:
		return true, nil
	}
	return false, expected(there, flags)
}

// expected checks the flags of setxattr(2) against the current value.
func expected(there bool, flags int) error {
	switch {
	case flags&unix.XATTR_CREATE != 0 && there:
		return syscall.EEXIST
	case flags&unix.XATTR_REPLACE != 0 && !there:
		return ErrAbsent
	}
	return nil
}

// refused turns an error of package xattr about a name or a value into an errno. Other namespaces
// are unsupported rather than absent, so that ls stops asking; cp, which tries to set them, gets
// ENOTSUP without a line in the log. A value that the service has no operation to remove is EPERM.
func refused(name string, err error) error {
	switch {
	case errors.Is(err, xattr.ErrNamespace):
		return syscall.ENOTSUP
	case errors.Is(err, xattr.ErrUnknown), errors.Is(err, xattr.ErrForeign):
		return errno.Refuse(syscall.ENOTSUP, archive.Printable(err.Error()))
	case errors.Is(err, xattr.ErrValue):
		return errno.Refuse(syscall.EINVAL, archive.Printable(err.Error()))
	case errors.Is(err, xattr.ErrTooBig):
		return errno.Refuse(syscall.E2BIG, archive.Printable(err.Error()))
	case errors.Is(err, xattr.ErrStays):
		return errno.Refuse(syscall.EPERM, "the service has no operation that removes "+archive.Printable(name))
	}
	return err
}
