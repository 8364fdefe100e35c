//go:build !linux

package mount

import (
	"context"
	"errors"
	"io"

	"github.com/archivefs/archivefs/fs"
)

// HeraldVariable is not used: only Linux has heralds.
const HeraldVariable = "_ARCHIVEFS_HERALD"

// herald tells nothing: file managers of other systems list folders again by themselves.
func (*session) herald(context.Context, string, func(thread uint32), []fs.Change) error { return nil }

// Proclaim says that there are no heralds.
func Proclaim(io.Reader, io.Writer) error { return errors.ErrUnsupported }
