package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

// defaultMountpointFlag says where a profile is mounted that does not say it. It is for units
// that stand for any profile.
func defaultMountpointFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "default-mountpoint", EnvVars: env("DEFAULT_MOUNTPOINT"), TakesFile: true,
		Usage: "where a PROFILE is mounted that names no mountpoint: at `DIR`, which is made",
	}
}

// placeFlags are those of a command that finds a mount by its profile.
func placeFlags() []cli.Flag { return []cli.Flag{configFlag(), defaultMountpointFlag()} }

// placeOf is where a profile says that it is mounted, empty when it does not.
func placeOf(files config.Files, profile string) string {
	return config.Merge(files.Layers(profile), nil)[config.Mountpoint].Text
}

// mountpointOf is where a profile is mounted: where it says, or at the default; empty when
// there is none. isDefault reports the latter.
func mountpointOf(c *cli.Context, says string) (dir string, isDefault bool) {
	if says != "" {
		return says, false
	}
	return c.String("default-mountpoint"), true
}

// readMountpoint reads where the archive is mounted: at the operand, or where its profile is.
func (s *mountSettings) readMountpoint(c *cli.Context, operand string) (err error) {
	if operand == "" {
		operand, s.made = mountpointOf(c, s.chosen.values[config.Mountpoint].Text)
	}
	if operand == "" {
		return config.Usagef("the profile %s names no mountpoint; give one, as in archivefs mount %s ~/Archive, "+
			"or write ./%s for the directory of that name", s.profile, s.profile, s.profile)
	}
	s.mountpoint, err = filepath.Abs(operand) // a mount in the background lives elsewhere
	return err
}

// mountpointOperand is the one operand of a command, a mount point, or the profile that is
// mounted there.
func mountpointOperand(c *cli.Context) (string, error) {
	if err := oneOperand(c); err != nil {
		return "", err
	}
	return mountpointAt(c, c.Args().First())
}

func oneOperand(c *cli.Context) error {
	if c.NArg() != 1 {
		return config.Usagef("%s needs one MOUNTPOINT, and was given %d operands", c.Command.Name, c.NArg())
	}
	return nil
}

// mountpointAt is the mount point that an operand names, or the profile that is mounted there.
func mountpointAt(c *cli.Context, operand string) (string, error) {
	files, wrong := readConfig(c) // a mount can be used and ended whatever was written since
	if wrong == nil && files.Has(operand) {
		if dir, _ := mountpointOf(c, placeOf(files, operand)); dir != "" {
			return dir, nil
		}
		return "", config.Usagef("the profile %s names no mountpoint; give the directory itself", operand)
	}
	if err := wantPlace(files, operand); err != nil {
		return "", err
	}
	return filepath.Abs(operand)
}

// wantPlace refuses an operand that is no profile and cannot be meant as a directory: it is
// empty, or a word that names nothing where profiles have names.
func wantPlace(files config.Files, operand string) error {
	if operand == "" {
		return config.Usagef("an operand is empty; name a directory or a profile")
	}
	if profiles := files.Profiles(); len(profiles) > 0 && isNothing(operand) {
		return config.Usagef("there is no profile %q%s, and no directory of that name", operand, config.Meant(operand, profiles))
	}
	return nil
}

// isNothing reports whether an operand is a word that names no file here.
func isNothing(operand string) bool {
	_, err := os.Lstat(operand)
	return errors.Is(err, os.ErrNotExist) && !strings.ContainsRune(operand, filepath.Separator)
}

// prepareMountpoint makes sure that the archive can be mounted where it shall be.
func prepareMountpoint(ctx context.Context, s *mountSettings) error {
	if s.made && !isAutomount(s.mountpoint) && !isStale(s.mountpoint) {
		if err := os.MkdirAll(s.mountpoint, 0o700); err != nil {
			return fmt.Errorf("mount point: %w", err)
		}
	}
	return checkMountpoint(ctx, s.mountpoint, s.nonempty)
}

// isAutomount reports whether a mount at dir is waited for: systemd had it begun because
// somebody looks into dir. There is nothing in it, and to look would be to wait for ourselves.
func isAutomount(dir string) bool { return doctor.Automount(mountinfo("self"), dir) }

// checkMountpoint makes sure that something can be mounted at dir without hiding what is
// in it, unless nonempty allows that. What a killed process left behind is cleared away.
func checkMountpoint(ctx context.Context, dir string, nonempty bool) error {
	if isAutomount(dir) {
		return nil
	}
	if isStale(dir) {
		if err := detachMount(ctx, dir); err != nil {
			return err
		}
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no directory %s to mount at; make it first: mkdir -p %s", dir, dir)
	case err != nil:
		return fmt.Errorf("mount point: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; name one to mount at", dir)
	}
	if _, _, err := readStatus(dir); err == nil {
		return fmt.Errorf("an archive is mounted at %s already; unmount it first: archivefs unmount %s", dir, dir)
	}
	if nonempty {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("mount point: %w", err)
	}
	if slices.ContainsFunc(entries, isSomebodys) {
		return fmt.Errorf("%s is not empty, and a mount would hide what is in it; name an empty directory, or hide it with -o nonempty", dir)
	}
	return nil
}

// isSomebodys reports whether an entry of a mount point would be missed. What desktops leave
// in every directory that they show would not, and neither would what bears the name of
// the control directory.
func isSomebodys(e os.DirEntry) bool {
	return !slices.Contains([]string{".DS_Store", ".localized", ".directory", ".archivefs"}, e.Name())
}
