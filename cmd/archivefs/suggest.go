package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

// chooseCommand is the action of what only has commands: the program, or a group of them at
// path. The help text shows which there are.
func chooseCommand(path ...string) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Present() {
			return noCommand(path, c.Args().First(), c.Command.Subcommands)
		}
		show := cli.ShowSubcommandHelp
		if len(path) == 0 {
			show = cli.ShowAppHelp
		}
		if err := show(c); err != nil {
			return err
		}
		return config.Usagef("a command is missing")
	}
}

// noCommand says that there is no command of that name, and which may be meant.
func noCommand(path []string, name string, commands []*cli.Command) error {
	names := []string{"help"}
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	within := ""
	if len(path) > 0 {
		within = strings.Join(path, " ") + " "
	}
	return config.Usagef("there is no command %s%q%s", within, name, config.Meant(name, names))
}

// noOption says that there is no option of that name, and which may be meant.
func noOption(name string, flags []cli.Flag) error {
	var names []string
	for _, f := range flags {
		for _, n := range f.Names() {
			if len(n) > 1 {
				names = append(names, dashed(n))
			}
		}
	}
	return config.Usagef("there is no option %s%s", dashed(name), config.Meant(dashed(name), names))
}
