package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
)

// helpWidth is the length of the longest line in a help text.
const helpWidth = 100

// WriteHelp sets the help texts of the app and of the commands in a command line. The library does
// not wrap its own. Formatting those of all commands would take longer than most commands.
func WriteHelp(app *cli.App, args []string) {
	rows := append(commandRows(app.Commands), [2]string{"help", "explain a command, as in archivefs help uploads list"})
	flags := []cli.Flag{cli.VersionFlag}
	app.CustomAppHelpTemplate = helpText(app.Name, app.Usage, "COMMAND", app.Description, rows, flags)
	name, commands := app.Name, app.Commands
	for _, arg := range args {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(arg) })
		if i < 0 {
			return
		}
		c := commands[i]
		name, commands = name+" "+c.Name, c.Subcommands
		operands := c.ArgsUsage
		if len(commands) > 0 {
			operands = "COMMAND"
		}
		c.CustomHelpTemplate = helpText(name, c.Usage, operands, c.Description, commandRows(commands), c.Flags)
	}
}

func commandRows(commands []*cli.Command) (rows [][2]string) {
	for _, c := range (&cli.Command{Subcommands: commands}).VisibleCommands() {
		rows = append(rows, [2]string{c.Name, c.Usage})
	}
	return rows
}

// helpText is the output of --help.
func helpText(name, usage, operands, description string, commands [][2]string, flags []cli.Flag) string {
	call := name + " [OPTION...]"
	if operands != "" {
		call += " " + operands
	}
	text := fmt.Sprintf("NAME:\n   %s - %s\n\nUSAGE:\n   %s\n", name, usage, call)
	if description != "" {
		text += "\nDESCRIPTION:\n   " + strings.ReplaceAll(strings.ReplaceAll(description, "\n", "\n   "), "   \n", "\n") + "\n"
	}
	if len(commands) > 0 {
		text += "\nCOMMANDS:\n" + table(commands)
	}
	rows := make([][2]string, 0, len(flags)+1)
	for _, f := range append(Visible(flags), cli.HelpFlag) {
		rows = append(rows, flagRow(f))
	}
	return text + "\nOPTIONS:\n" + table(rows)
}

// Visible are the options in the help text.
func Visible(flags []cli.Flag) []cli.Flag {
	return (&cli.Command{Flags: flags}).VisibleFlags()
}

// flagRow is an option with its value, and its meaning.
func flagRow(f cli.Flag) [2]string {
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok { // all flags of the library are
		return [2]string{f.String()}
	}
	var names []string
	for _, n := range f.Names() {
		names = append(names, Dashed(n))
	}
	name, text := strings.Join(names, ", "), doc.GetUsage()
	if before, rest, quoted := strings.Cut(text, "`"); quoted {
		value, after, _ := strings.Cut(rest, "`")
		name, text = name+" "+value, before+value+after
	}
	if byDefault := doc.GetDefaultText(); doc.TakesValue() && byDefault != "" {
		text += " (default " + command.Plain(byDefault) + ")"
	}
	for _, variable := range doc.GetEnvVars() {
		text += " [$" + variable + "]"
	}
	return [2]string{name, text}
}

// Dashed is the name of an option with its dashes.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// table formats rows in two columns and wraps the second one.
func table(rows [][2]string) string {
	first := 0
	for _, r := range rows {
		first = max(first, len(r[0]))
	}
	var b strings.Builder
	for _, r := range rows {
		line := fmt.Sprintf("   %-*s ", first, r[0])
		empty := len(line) + 1
		for word := range strings.FieldsSeq(r[1]) {
			if len(line)+1+len(word) > helpWidth {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", empty-1)
			}
			line += " " + word
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// helpFor turns the operands of help into a command line with --help.
func helpFor(app *cli.App, program string, names []string) ([]string, error) {
	path, commands, _ := Descend(app, names)
	if len(path) < len(names) && !strings.HasPrefix(names[len(path)], "-") {
		return nil, noCommand(path, names[len(path)], commands)
	}
	return append(append([]string{program}, path...), "--help"), nil
}
