package main

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

func configCommand() *cli.Command {
	return &cli.Command{
		Name:            "config",
		Usage:           "check the configuration files, and see what they say",
		HideHelpCommand: true, // arrange knows help
		OnUsageError:    usageError,
		Description: "A configuration file sets options of mount, for all or for a profile:\n\n" +
			"   ttl = \"5m\"\n\n" +
			"   [profile.office]\n" +
			"   base-url = \"https://archive.example\"\n" +
			"   mountpoint = \"~/Archive\"\n\n" +
			"archivefs mount office then mounts it. The file is ~/.config/archivefs/config.toml; what that\n" +
			"does not say is looked for in /etc/archivefs/config.toml. The environment counts more than both,\n" +
			"and the command line more than the environment.",
		Action:      chooseCommand("config"),
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
		Flags:        mountCommand().Flags,
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			files, err := readConfig(c)
			if err != nil {
				return err
			}
			profile, err := onlyProfile(c)
			if err != nil {
				return err
			}
			all, err := choose(c, files, profile)
			if err != nil {
				return err
			}
			return all.print(c)
		},
	}
}

// onlyProfile is the one operand of a command that needs none.
func onlyProfile(c *cli.Context) (string, error) {
	if c.NArg() > 1 {
		return "", config.Usagef("%s takes one PROFILE at most, and was given %d operands", c.Command.Name, c.NArg())
	}
	if c.NArg() == 1 && c.Args().First() == "" {
		return "", config.Usagef("the operand of %s is empty; name a PROFILE, or leave it out", c.Command.Name)
	}
	return c.Args().First(), nil
}

// print writes a line for each option, in the order of the alphabet.
func (all *choices) print(c *cli.Context) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 4, 2, ' ', 0)
	options := append(fileOptions(), config.Option{Name: config.Mountpoint})
	slices.SortFunc(options, func(a, b config.Option) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range options {
		value, chosen := all.values[o.Name]
		text, source := value.Text, all.source(o.Name)
		switch {
		case !chosen:
			text = builtIn(c, o.Name)
		case o.Secret:
			text = "***"
		case strings.Contains(text, "://"): // a password in an address is refused, but not by this command
			if u, err := url.Parse(text); err == nil {
				text = u.Redacted()
			}
		case o.Kind == config.Duration:
			text = plain(text)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", o.Name, cmp.Or(text, "-"), source) //nolint:errcheck // Flush tells
	}
	return w.Flush()
}

// source says in words where the value of an option comes from.
func (all *choices) source(name string) string {
	value, chosen := all.values[name]
	if !chosen {
		return "built in"
	}
	at := fmt.Sprintf("%s:%d", value.File, value.Line)
	switch value.Source {
	case config.FromFlag:
		return "command line"
	case config.FromEnvironment:
		return "environment, " + env(strings.ToUpper(strings.ReplaceAll(name, "-", "_")))[0]
	case config.FromProfile:
		return "profile " + all.profile + ", " + at
	}
	return "for all, " + at
}

// builtIn is the default of an option as the help text has it; empty when there is none.
func builtIn(c *cli.Context, name string) string {
	for _, f := range c.Command.Flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if ok && f.Names()[0] == name {
			return plain(doc.GetDefaultText())
		}
	}
	return ""
}
