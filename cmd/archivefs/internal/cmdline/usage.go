package cmdline

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

// Govern makes the commands below path behave alike: a group prints its commands, Arrange handles
// help, and errors of the library are wrong usage. Check reports all such errors before, in our
// words: the errors of the library are texts, which nothing here matches.
func Govern(path []string, commands []*cli.Command) []*cli.Command {
	for _, c := range commands {
		c.HideHelpCommand, c.OnUsageError = true, UsageError
		if len(c.Subcommands) > 0 {
			below := append(slices.Clone(path), c.Name)
			c.Action, c.Subcommands = ChooseCommand(below...), Govern(below, c.Subcommands)
		}
	}
	return commands
}

// UsageError makes a *config.UsageError of an error of the library.
func UsageError(_ *cli.Context, err error, _ bool) error { return config.Usagef("%v", err) }

// Check returns a *config.UsageError for the first wrong variable of the environment, or wrong
// option of an arranged command line, and for operands of a command that has none.
func Check(app *cli.App, args []string) error {
	path, commands, flags := Descend(app, args[min(1, len(args)):])
	for _, f := range flags {
		doc, _ := f.(cli.DocGenerationFlag) // all flags of the library are
		for _, variable := range doc.GetEnvVars() {
			if text := os.Getenv(variable); text != "" {
				if why := misfit(f, text); why != "" {
					return config.Usagef("%s: %s", variable, why)
				}
			}
		}
	}
	known := append(slices.Clone(flags), cli.HelpFlag)
	if len(path) == 0 {
		known = append(known, cli.VersionFlag)
	}
	i := 1 + len(path)
	for ; i < len(args) && args[i] != "--"; i++ {
		name, text, given := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		f := FlagNamed(known, name)
		if f == nil {
			return noOption(name, flags)
		}
		if !TakesValue(known)[name] && !given {
			continue
		}
		if !given {
			i++
			text = args[i]
		}
		if err := CheckValue(f, text); err != nil {
			return err
		}
	}
	if n := len(args) - i - 1; n > 0 && len(path) > 0 && len(commands) == 0 && CommandAt(app, path).ArgsUsage == "" {
		return config.Usagef("%s takes no operands, and was given %d", strings.Join(path, " "), n)
	}
	return nil
}

// CheckValue returns a *config.UsageError unless text is a value of the option.
func CheckValue(f cli.Flag, text string) error {
	name, why := f.Names()[0], misfit(f, text)
	if why != "" && (name == "uid" || name == "gid") {
		why = fmt.Sprintf("%q is no number; id -u and id -g tell the numbers of a user", text)
	}
	if why != "" {
		return config.WrongOption(name, "%s", why)
	}
	return nil
}

// misfit says why text is no value for an option of this kind, and gives an example; empty if it is one.
func misfit(f cli.Flag, text string) string {
	switch f.(type) {
	case *cli.DurationFlag:
		if _, err := time.ParseDuration(text); err == nil {
			return ""
		}
		if n, err := strconv.ParseUint(text, 10, 32); err == nil {
			return fmt.Sprintf("%q is no duration; write %ds, %dm or %dh", text, n, n, n)
		}
		return fmt.Sprintf("%q is no duration; write for example 90s or 5m", text)
	case *cli.IntFlag:
		if _, err := strconv.ParseInt(text, 0, strconv.IntSize); err != nil {
			return fmt.Sprintf("%q is no whole number", text)
		}
	case *cli.BoolFlag:
		if _, err := strconv.ParseBool(text); err != nil {
			return fmt.Sprintf("%q is neither true nor false", text)
		}
	}
	return ""
}

// HelpCommand is the help command line for the command in args.
func HelpCommand(app *cli.App, args []string) string {
	path, _, _ := Descend(app, args[min(1, len(args)):])
	return strings.Join(append(append([]string{"archivefs"}, path...), "--help"), " ")
}

// ChooseCommand is the action of the program, or of a group of commands at path: it fails, and points to the help text.
func ChooseCommand(path ...string) cli.ActionFunc {
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

// noCommand is the error for an unknown command, with a similar one.
func noCommand(path []string, name string, commands []*cli.Command) error {
	names := []string{"help"}
	for _, row := range commandRows(commands) {
		names = append(names, row[0])
	}
	within := ""
	if len(path) > 0 {
		within = strings.Join(path, " ") + " "
	}
	return config.Usagef("there is no command %s%q%s", within, name, config.Meant(name, names))
}

// noOption is the error for an unknown option, with a similar one.
func noOption(name string, flags []cli.Flag) error {
	var names []string
	for _, f := range flags {
		for _, n := range f.Names() {
			if len(n) > 1 {
				names = append(names, Dashed(n))
			}
		}
	}
	return config.Usagef("there is no option %s%s", Dashed(name), config.Meant(Dashed(name), names))
}
