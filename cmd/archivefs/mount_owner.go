package main

import (
	"math"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

// readOwner reads who owns the files and what others may do with them.
func readOwner(c *cli.Context, s *mountSettings) error {
	var err error
	if s.fs.UID, err = owner(c, "uid", os.Getuid()); err != nil {
		return err
	}
	if s.fs.GID, err = owner(c, "gid", os.Getgid()); err != nil {
		return err
	}
	mask, err := strconv.ParseUint(c.String("umask"), 8, 32)
	if err != nil || mask > 0o777 {
		return config.Usagef("--umask: %q is no octal number of up to 777", c.String("umask"))
	}
	s.fs.Umask = uint32(mask)
	return nil
}

// owner is the value of --uid or --gid, the process's own when it is not given.
func owner(c *cli.Context, name string, own int) (uint32, error) {
	n := c.Int(name)
	if !c.IsSet(name) {
		n = own
	}
	if n < 0 || n > math.MaxUint32-1 {
		return 0, config.Usagef("--%s: %d is no user or group number", name, n)
	}
	return uint32(n), nil
}
