package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/config"
)

// How the library says that a value does not fit its option.
var (
	badValue       = regexp.MustCompile(`^invalid (?:boolean )?value ("[^"]*") for (?:flag )?-?-?([a-z-]+): `)
	badEnvironment = regexp.MustCompile(`^could not parse ("[^"]*") as ([a-z0-9]+) value from environment variable "([^"]*)" for flag [a-z-]+:`)
)

// usageError says in our words what the library found wrong with an option.
func usageError(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return noOption(strings.TrimPrefix(name, "-"), c.Command.Flags)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return config.Usagef("--%s needs a value", strings.TrimPrefix(name, "-"))
	}
	if m := badValue.FindStringSubmatch(text); m != nil {
		return config.Usagef("--%s: %s %s", m[2], m[1], complaint(kindOfFlag(c, m[2]), m[1]))
	}
	if m := badEnvironment.FindStringSubmatch(text); m != nil {
		return config.Usagef("%s: %s %s", m[3], m[1], complaint(m[2], m[1]))
	}
	return config.Usagef("%s", text)
}

// wrongSetting names the option in an error of the client's settings.
func wrongSetting(err error) error {
	options := map[apiclient.Setting]string{
		apiclient.SettingBaseURL:  "--base-url",
		apiclient.SettingAPIKey:   "--api-key or --api-key-file",
		apiclient.SettingCloudID:  "--cloud-id",
		apiclient.SettingUser:     "--user",
		apiclient.SettingPassword: "--password or --password-file",
		apiclient.SettingCAFile:   "--ca-file",
		apiclient.SettingCertFile: "--client-cert",
	}
	if wrong := new(apiclient.SettingError); errors.As(err, &wrong) {
		return config.Usagef("%s: %v", options[wrong.Setting], wrong.Err)
	}
	return config.Usagef("%v", err)
}

// kindOfFlag names the kind of value that an option takes, as the library does, or "id".
func kindOfFlag(c *cli.Context, name string) string {
	for _, f := range c.Command.Flags {
		if f.Names()[0] != name {
			continue
		}
		if name == "uid" || name == "gid" {
			return "id"
		}
		switch f.(type) {
		case *cli.DurationFlag:
			return "duration"
		case *cli.IntFlag:
			return "int"
		case *cli.BoolFlag:
			return "bool"
		}
	}
	return ""
}

// complaint says why a quoted value is none of its kind, and what would be one.
func complaint(kind, quoted string) string {
	switch kind {
	case "duration":
		if n, err := strconv.ParseUint(strings.Trim(quoted, `"`), 10, 32); err == nil {
			return fmt.Sprintf("is no duration; write %ds, %dm or %dh", n, n, n)
		}
		return "is no duration; write for example 90s or 5m"
	case "id":
		return "is no number; id -u and id -g tell the numbers of a user"
	case "int":
		return "is no whole number"
	case "bool":
		return "is neither true nor false"
	}
	return "is no value for it"
}

// helpCommand is the command line that explains the command in args.
func helpCommand(app *cli.App, args []string) string {
	var path []string
	if len(args) > 0 {
		path, _, _ = descend(app, args[1:])
	}
	return strings.Join(append(append([]string{"archivefs"}, path...), "--help"), " ")
}

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
