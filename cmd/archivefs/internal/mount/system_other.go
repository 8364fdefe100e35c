//go:build !linux

package mount

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/archivefs/archivefs/fs"
)

// HeraldVariable is not used: only Linux has heralds.
const HeraldVariable = "_ARCHIVEFS_HERALD"

// herald tells nothing: file managers of other systems list folders again by themselves.
func (*session) herald(context.Context, string, func(thread uint32), []fs.Change) error { return nil }

// Proclaim says that there are no heralds.
func Proclaim(io.Reader, io.Writer) error { return errors.ErrUnsupported }

// ownProgram is a path to the program that runs.
func ownProgram() (string, error) { return os.Executable() }

// inheritNothing does nothing: there is no such call.
func inheritNothing() {}
