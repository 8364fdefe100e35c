package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
)

// notInFiles are the options that are about the command line alone.
var notInFiles = []string{"o", "config", "default-mountpoint"}

// Alternatives are options that say the same in different ways. One of them on the command
// line replaces another of a profile.
var Alternatives = [][]string{
	{"api-key", "api-key-file", "api-key-command"},
	{"password", "password-file", "password-command"},
	{"base-url", "embedded"},
}

// FileOptions are the options that a configuration file can set: those of mount, whose list
// of flags is the only one there is.
func FileOptions() []config.Option {
	var options []config.Option
	for _, f := range Flags() {
		name := f.Names()[0]
		if slices.Contains(notInFiles, name) {
			continue
		}
		o := config.Option{Name: name, Secret: slices.Contains(command.SecretFlags, name)}
		switch f := f.(type) {
		case *cli.BoolFlag:
			o.Kind = config.Switch
		case *cli.IntFlag:
			o.Kind = config.Number
		case *cli.DurationFlag:
			o.Kind = config.Duration
		case *cli.StringFlag:
			o.Path = f.TakesFile
		}
		options = append(options, o)
	}
	return options
}

// ReadConfig reads the configuration files, or the one that --config names.
func ReadConfig(c *cli.Context) (config.Files, error) {
	paths := config.Places()
	if path := c.String("config"); path != "" {
		if err := IsFile(path); err != nil {
			return nil, config.WrongOption("config", "%v", err)
		}
		path, err := filepath.Abs(path) // a mount in the background lives elsewhere
		if err != nil {
			return nil, err
		}
		if err := c.Set("config", path); err != nil {
			return nil, err
		}
		paths = []string{path}
	}
	files, problems := config.Load(paths, FileOptions())
	return files, problems.Error()
}

// Choices are the options that somebody chose, and where.
type Choices struct {
	profile           string // empty for none
	line, environment config.Layer
	Values            config.Layer // what counts
}

// Choose finds out which options count for a profile (empty for none), and sets those of
// the command that the configuration says. The command line is stronger than the
// environment, that than the profile, and that than what files say for all.
func Choose(c *cli.Context, files config.Files, profile string) (*Choices, error) {
	if profile != "" && !files.Has(profile) {
		return nil, NoProfile(files, profile, "")
	}
	all := &Choices{profile: profile}
	all.line, all.environment = given(c)
	for _, layer := range []config.Layer{all.line, all.environment} {
		if err := fromRoot(c, layer); err != nil {
			return nil, err
		}
	}
	all.merge(files)
	if err := all.silence(c, all.environment); err != nil {
		return nil, err
	}
	return all, all.Blame(all.apply(c))
}

// NoProfile says that the files have no profile of that name, which one may be meant, and more.
func NoProfile(files config.Files, name, more string) error {
	return config.Usagef("there is no profile %q in the configuration%s%s", name, config.Meant(name, files.Profiles()), more)
}

// merge finds out which options count beside these files.
func (all *Choices) merge(files config.Files) {
	layers := append([]config.Layer{all.line, all.environment}, files.Layers(all.profile)...)
	all.Values = config.Merge(layers, Alternatives)
}

// Again reads the configuration files once more, and returns the options as they count now.
func (all *Choices) Again(ctx context.Context, c *cli.Context) (*cli.Context, error) {
	files, err := ReadConfig(c)
	if err != nil {
		return nil, err
	}
	now := &Choices{profile: all.profile, line: all.line, environment: all.environment}
	now.merge(files)
	again, err := now.context()
	if err != nil {
		return nil, err
	}
	again.Context = ctx
	return again, nil
}

// fromRoot lets the paths of a layer begin at the root: a mount in the background has another
// working directory.
func fromRoot(c *cli.Context, layer config.Layer) error {
	for _, o := range FileOptions() {
		value, set := layer[o.Name]
		if !set || !o.Path || value.Text == "" || filepath.IsAbs(value.Text) {
			continue
		}
		path, err := filepath.Abs(value.Text)
		if err != nil {
			return err
		}
		value.Text = path
		layer[o.Name] = value
		if err := c.Set(o.Name, path); err != nil {
			return err
		}
	}
	return nil
}

// silence takes back what the environment sets where the command line says it in another way.
func (all *Choices) silence(c *cli.Context, environment config.Layer) error {
	for name := range environment {
		if _, counts := all.Values[name]; counts {
			continue
		}
		nothing := ""
		if _, isBool := cmdline.FlagNamed(c.Command.Flags, name).(*cli.BoolFlag); isBool {
			nothing = "false"
		}
		if err := c.Set(name, nothing); err != nil {
			return err
		}
	}
	return nil
}

// apply sets the options that count; those of the command line and of the environment once
// more.
func (all *Choices) apply(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		value, chosen := all.Values[name]
		if !chosen {
			continue
		}
		if err := cmdline.CheckValue(f, value.Text); err != nil && !value.Mistyped {
			return err
		}
		_ = c.Set(name, value.Text) // it fails for what is mistyped alone
	}
	return nil
}

// given returns the options that the command line sets, and those that the environment
// does.
func given(c *cli.Context) (line, environment config.Layer) {
	line, environment = config.Layer{}, config.Layer{}
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		text := fmt.Sprint(c.Value(name))
		switch {
		case !c.IsSet(name):
		case !f.IsSet() || text != environmentText(f): // the flag itself is set by the environment alone
			line[name] = config.Value{Text: text, Source: config.FromFlag}
		case text != "":
			environment[name] = config.Value{Text: text, Source: config.FromEnvironment}
		}
	}
	return line, environment
}

// environmentText is the value of a flag that the environment sets.
func environmentText(f cli.Flag) string {
	if f, ok := f.(*cli.BoolFlag); ok {
		return strconv.FormatBool(f.Value)
	}
	if f, ok := f.(cli.DocGenerationFlag); ok { // all flags of the library are
		return f.GetValue()
	}
	return ""
}

// Blame says of a wrong option that a configuration file sets in which line it stands, where
// it has no dashes. Other errors stay as they are.
func (all *Choices) Blame(err error) error {
	if p, ok := all.InFile(err); ok {
		return config.Usagef("%s", p)
	}
	return err
}

// InFile is an error about the value of an option that a configuration file sets, in the words of that
// file.
func (all *Choices) InFile(err error) (p config.Problem, ok bool) {
	var usage *config.UsageError
	if !errors.As(err, &usage) {
		return p, false
	}
	value := all.Values[usage.Option] // there is no option without a name
	return config.Problem{File: value.File, Line: value.Line, Text: usage.Option + ": " + usage.Reason}, value.IsFromFile()
}

// toBlame is the option to blame for a mistake, of those that files set: one of the profile rather than
// one for all, and the last of those. It is empty when there is none.
func (all *Choices) toBlame(mistake *config.UsageError) (name string) {
	for _, option := range mistake.Options {
		if value := all.Values[option]; value.IsFromFile() && (name == "" || lastFirst(value, all.Values[name]) < 0) {
			name = option
		}
	}
	return name
}

// lastFirst orders what stands for fewer before what stands for more, and what stands below
// before what stands above.
func lastFirst(a, b config.Value) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(b.Line, a.Line))
}

// IsFile returns an error that names path unless it is a file.
func IsFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	return err
}
