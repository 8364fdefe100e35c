// Package settings reads the options of mount: from the command line, the environment, the
// configuration files and stored logins.
package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
)

// OnlyProfile is the operand of a command that needs no mount point.
func OnlyProfile(c *cli.Context) (string, error) {
	if c.NArg() > 1 {
		return "", config.Usagef("%s takes one PROFILE at most, and was given %d operands", c.Command.Name, c.NArg())
	}
	if c.NArg() == 1 && c.Args().First() == "" {
		return "", config.Usagef("the operand of %s is empty; name a PROFILE, or leave it out", c.Command.Name)
	}
	return c.Args().First(), nil
}

// ReadLogin reads which service a login is for.
func ReadLogin(c *cli.Context) (*Mount, *Choices, error) {
	profile, err := OnlyProfile(c)
	if err != nil {
		return nil, nil, err
	}
	files, err := ReadConfig(c)
	if err != nil {
		return nil, nil, err
	}
	all, err := Choose(c, files, profile)
	if err != nil {
		return nil, nil, err
	}
	s := &Mount{Profile: profile}
	if err := readService(c, s); err != nil {
		return nil, nil, all.Blame(err)
	}
	if s.Embedded {
		return nil, nil, config.Usagef("%s is about an archive service: name it with --base-url, or name a profile that does; "+
			"an archive of your own needs no credentials", c.Command.Name)
	}
	return s, all, nil
}

// defaultMountpointFlag is the mount point of a profile that names none. It is for systemd units,
// which are for any profile.
func defaultMountpointFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "default-mountpoint", EnvVars: command.Env("DEFAULT_MOUNTPOINT"), TakesFile: true,
		Usage: "mount a PROFILE that names no mountpoint at `DIR`, which is created",
	}
}

// PlaceFlags are the flags of a command that finds a mount by its profile.
func PlaceFlags() []cli.Flag { return []cli.Flag{command.ConfigFlag(), defaultMountpointFlag()} }

// PlaceOf is the mount point of a profile, empty if it names none.
func PlaceOf(files config.Files, profile string) string {
	return config.Merge(files.Layers(profile), nil)[config.Mountpoint].Text
}

// mountpointOf is the mount point of a profile: its own, or the default; empty if there is neither.
// isDefault reports the latter.
func mountpointOf(c *cli.Context, says string) (dir string, isDefault bool) {
	if says != "" {
		return says, false
	}
	return c.String("default-mountpoint"), true
}

// readMountpoint reads the mount point: the operand, or that of the profile.
func (s *Mount) readMountpoint(c *cli.Context, operand string) (err error) {
	if operand == "" {
		operand, s.Made = mountpointOf(c, s.Chosen.Values[config.Mountpoint].Text)
	}
	if operand == "" {
		return config.Usagef("the profile %s names no mountpoint; give one, as in archivefs mount %s ~/Archive, "+
			"or write ./%s for the directory of that name", s.Profile, s.Profile, s.Profile)
	}
	if s.Profile == "" && IsNothing(operand) {
		s.Word = operand
	}
	s.Mountpoint, err = filepath.Abs(operand) // a background mount runs in another directory
	return err
}

// MountpointOperand is the only operand of a command, a mount point or a profile.
func MountpointOperand(c *cli.Context) (string, error) {
	if err := OneOperand(c); err != nil {
		return "", err
	}
	return MountpointAt(c, c.Args().First())
}

// OneOperand refuses any number of operands except one.
func OneOperand(c *cli.Context) error {
	if c.NArg() != 1 {
		return config.Usagef("%s needs one MOUNTPOINT, and was given %d operands", c.Command.Name, c.NArg())
	}
	return nil
}

// MountpointAt is the mount point in an operand, or that of the profile in it.
func MountpointAt(c *cli.Context, operand string) (string, error) {
	files, wrong := ReadConfig(c) // existing mounts work whatever the files contain
	if wrong == nil && files.Has(operand) {
		if dir, _ := mountpointOf(c, PlaceOf(files, operand)); dir != "" {
			return dir, nil
		}
		return "", config.Usagef("the profile %s names no mountpoint; give the directory itself", operand)
	}
	if err := WantPlace(files, operand); err != nil {
		return "", err
	}
	return filepath.Abs(operand)
}

// WantPlace refuses an operand that is neither a profile nor a possible directory: an empty one, or
// an unknown name if there are profiles.
func WantPlace(files config.Files, operand string) error {
	if operand == "" {
		return config.Usagef("an operand is empty; name a directory or a profile")
	}
	if profiles := files.Profiles(); len(profiles) > 0 && IsNothing(operand) {
		return config.Usagef("there is no profile %q%s, and no directory of that name", operand, config.Meant(operand, profiles))
	}
	return nil
}

// IsNothing reports whether an operand is a name, and no file of that name exists.
func IsNothing(operand string) bool {
	_, err := os.Lstat(operand)
	return errors.Is(err, os.ErrNotExist) && !strings.ContainsRune(operand, filepath.Separator)
}
