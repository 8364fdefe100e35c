package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/durable"
)

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "copy the bytes of uploads out of the mount",
		ArgsUsage: uploadOperand + " [ID...]",
		Description: "Writes the files below the current directory, in folders as in the mount, and never over a file\n" +
			"that is there. Without an ID all are exported that uploads list shows. They stay where they\n" +
			"are.\n\n" + ofStateDir,
		Flags:        placeFlags(),
		OnUsageError: usageError,
		Action:       exportUploads,
	}
}

func exportUploads(c *cli.Context) error {
	all, err := chooseUploads(c, func(u *fs.UploadInfo) bool { return !u.Directory })
	if err != nil {
		return err
	}
	if len(all.uploads) > 0 {
		if err := mayExport(all.dir); err != nil {
			return errors.Join(err, all.place.Close())
		}
	}
	return all.each(func(u *fs.UploadInfo) error {
		target, err := exportUpload(all.place, u)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s  %s\n", u.ID, archive.Printable(target))
		return err
	})
}

// mayExport says once for all uploads why none can be written below the current directory. What it
// tries has a name that stays local where an archive is mounted.
func mayExport(from string) error {
	f, err := os.CreateTemp(".", ".archivefs-*.part")
	if err == nil {
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
	here, gone := os.Getwd()
	if gone != nil {
		here = os.Getenv("PWD")
	}
	var why *os.PathError
	if errors.As(err, &why) {
		err = why.Err
	}
	return fmt.Errorf("nothing was exported, because nothing can be written to the current directory, %s (%w); call it in another one, as in cd DIR && archivefs uploads export %s",
		archive.Printable(here), err, doctor.Quoted(from))
}

// exportUpload copies one upload to its path below the current directory, or beside what
// is there, and returns where it is. The copy survives a crash of the machine then.
func exportUpload(place uploadPlace, u *fs.UploadInfo) (target string, err error) {
	if u.Directory {
		return "", errors.New("it is a folder, and has no bytes")
	}
	in, name, modified, err := place.Open(u.ID)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // read only
	_, name, _ = strings.Cut(name, " ")
	// Printable paths are local and have no empty, dot or absolute parts, whatever a
	// service calls its folders.
	folder := filepath.Join(".", filepath.Clean("/"+filepath.Dir(u.Path)))
	if err := durable.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	out, err := createBeside(folder, name)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(out.Name()))
	}
	_ = os.Chtimes(out.Name(), modified, modified) // the bytes count
	return out.Name(), durable.SyncDir(folder)
}

// createBeside creates a file of that name, or with a number when there is one already.
func createBeside(folder, name string) (*os.File, error) {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 1; ; n++ {
		path := filepath.Join(folder, name)
		if n > 1 {
			path = filepath.Join(folder, fmt.Sprintf("%s (%d)%s", stem, n, ext))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // below the current directory
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}
