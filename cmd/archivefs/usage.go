package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/config"
)

// How the library says that a value does not fit its option.
var (
	badValue       = regexp.MustCompile(`^invalid (?:boolean )?value ("[^"]*") for (?:flag )?-?-?([a-z-]+): `)                                   //nolint:gochecknoglobals // a constant that Go cannot write
	badEnvironment = regexp.MustCompile(`^could not parse ("[^"]*") as ([a-z0-9]+) value from environment variable "([^"]*)" for flag [a-z-]+:`) //nolint:gochecknoglobals // a constant that Go cannot write
)

// usageError says in our words what the library found wrong with an option.
func usageError(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return config.Usagef("there is no option --%s", strings.TrimPrefix(name, "-"))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return config.Usagef("--%s needs a value", strings.TrimPrefix(name, "-"))
	}
	if m := badValue.FindStringSubmatch(text); m != nil {
		return config.Usagef("--%s: %s %s", m[2], m[1], complaint(kindOfFlag(c, m[2])))
	}
	if m := badEnvironment.FindStringSubmatch(text); m != nil {
		return config.Usagef("%s: %s %s", m[3], m[1], complaint(m[2]))
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

// kindOfFlag names the kind of value that an option takes, as the library does.
func kindOfFlag(c *cli.Context, name string) string {
	for _, f := range c.Command.Flags {
		if f.Names()[0] != name {
			continue
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

// complaint says why a value is none of its kind, and what would be one.
func complaint(kind string) string {
	switch kind {
	case "duration":
		return "is no duration; write for example 90s or 5m"
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
		path, _ = descend(app, args[1:])
	}
	return strings.Join(append(append([]string{"archivefs"}, path...), "--help"), " ")
}
