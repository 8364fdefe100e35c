// Package user has the commands for users other than mount: they show and unmount mounts, manage
// uploads, and store credentials.
package user

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/internal/config"
)

// ConfigCommand is the command config, with those below it.
func ConfigCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "check the configuration files, and see what they say",
		Description: "A configuration file sets options of mount, for all or for a profile:\n\n" +
			"   ttl = \"5m\"\n\n" +
			"   [profile.office]\n" +
			"   base-url = \"https://archive.example\"\n" +
			"   mountpoint = \"~/Archive\"\n\n" +
			"archivefs mount office then mounts it. The file is ~/.config/archivefs/config.toml; what that\n" +
			"does not say is looked for in /etc/archivefs/config.toml. The environment counts more than both,\n" +
			"and the command line more than the environment.",
		Subcommands: []*cli.Command{configCheckCommand(), configShowCommand()},
	}
}

func configShowCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show which options count for a mount, and where each comes from",
		ArgsUsage: "[PROFILE]",
		Description: "Prints a line for each option of mount: its name, its value, and its source. Secrets are shown\n" +
			"as ***. Options before PROFILE count as they do for mount.",
		Flags: settings.Flags(),
		Action: func(c *cli.Context) error {
			files, err := settings.ReadConfig(c)
			if err != nil {
				return err
			}
			profile, err := settings.OnlyProfile(c)
			if err != nil {
				return err
			}
			all, err := settings.Choose(c, files, profile)
			if err != nil {
				return err
			}
			return all.Print(c)
		},
	}
}

func configCheckCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "check FILE, or else the files that mount reads",
		ArgsUsage: "[FILE]",
		Description: "Prints a line for each mistake, as FILE:LINE: TEXT. The exit status is 0 when there is none. No\n" +
			"command of the configuration is run, and the service is not asked: archivefs doctor does that.",
		Flags:  []cli.Flag{command.ConfigFlag()},
		Action: checkConfig,
	}
}

func checkConfig(c *cli.Context) error {
	if c.NArg() > 1 {
		return config.Usagef("check takes one FILE at most, and was given %d operands", c.NArg())
	}
	paths := settings.ConfigPaths(c)
	if c.Args().Present() {
		paths = []string{c.Args().First()}
	}
	if c.Args().Present() || c.String("config") != "" {
		if err := settings.IsFile(paths[0]); err != nil {
			return config.Usagef("%v", err)
		}
	}
	files, problems := config.Load(paths, settings.FileOptions())
	problems = append(problems, settings.WrongValues(files)...).Sort()
	for _, p := range problems {
		if _, err := fmt.Fprintln(c.App.Writer, p); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("the configuration has %s", command.Plural(len(problems), "mistake"))
	}
	if len(files) == 0 {
		_, err := fmt.Fprintf(c.App.Writer, "there is no configuration: neither %s nor %s\n", paths[0], paths[len(paths)-1])
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(c.App.Writer, "%s: right, with %s\n", f.Path, command.Plural(len(f.Profiles), "profile")); err != nil {
			return err
		}
	}
	return nil
}
