// Package settings reads the options of mount: from the command line, the environment, the
// configuration files and stored logins.
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
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
)

// notInFiles are the options that only make sense on the command line.
var notInFiles = []string{"o", "config", "default-mountpoint"}

// Alternatives are different options for the same thing. One on the command line replaces another one of a profile.
var Alternatives = [][]string{
	{"api-key", "api-key-file", "api-key-command"},
	{"password", "password-file", "password-command"},
	{"base-url", "embedded"},
}

// FileOptions are the options for configuration files: the flags of mount, of which there is no second list.
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

// ReadConfig reads the configuration files, or the one of --config.
func ReadConfig(c *cli.Context) (config.Files, error) {
	if path := c.String("config"); path != "" {
		if err := IsFile(path); err != nil {
			return nil, config.WrongOption("config", "%v", err)
		}
		path, err := filepath.Abs(path) // a background mount runs in another directory
		if err != nil {
			return nil, err
		}
		if err := c.Set("config", path); err != nil {
			return nil, err
		}
	}
	files, problems := config.Load(ConfigPaths(c), FileOptions())
	return files, problems.Error()
}

// ConfigPaths are the paths of the configuration files, the strongest first.
func ConfigPaths(c *cli.Context) []string {
	if path := c.String("config"); path != "" {
		return []string{path}
	}
	return config.Places()
}

// searchReader returns a function that reads the saved searches of a profile (empty for none) from configuration files.
func searchReader(paths []string, profile string) func() ([]fs.Search, error) {
	return func() ([]fs.Search, error) {
		files, problems := config.Load(paths, FileOptions())
		var list []fs.Search
		for _, s := range files.Searches(profile) {
			list = append(list, fs.Search{Name: s.Name, Query: s.Query})
		}
		return list, problems.Error()
	}
}

// Choices are the chosen options, and where they were chosen.
type Choices struct {
	profile           string // empty for none
	line, environment config.Layer
	Values            config.Layer // the options in effect
}

// Choose determines the options in effect for a profile (empty for none), and sets those of the
// configuration in the command. The command line comes before the environment, that before the
// profile, and that before the general part of the files.
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

// NoProfile is the error for an unknown profile, with a similar one.
func NoProfile(files config.Files, name, more string) error {
	return config.Usagef("there is no profile %q in the configuration%s%s", name, config.Meant(name, files.Profiles()), more)
}

// merge determines the options in effect with these files.
func (all *Choices) merge(files config.Files) {
	layers := append([]config.Layer{all.line, all.environment}, files.Layers(all.profile)...)
	all.Values = config.Merge(layers, Alternatives)
}

// Again reads the configuration files again, and returns the options in effect.
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

// fromRoot makes the paths of a layer absolute: a background mount has another working directory.
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

// silence unsets options of the environment that the command line sets by an alternative.
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

// apply sets the options in effect, including those of the command line and the environment.
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
		_ = c.Set(name, value.Text) // it fails only for a typing error in the name
	}
	return nil
}

// given returns the options that the command line sets, and those that the environment sets.
func given(c *cli.Context) (line, environment config.Layer) {
	line, environment = config.Layer{}, config.Layer{}
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		text := fmt.Sprint(c.Value(name))
		switch {
		case !c.IsSet(name):
		case !f.IsSet() || text != environmentText(f): // only the environment sets the flag itself
			line[name] = config.Value{Text: text, Source: config.FromFlag}
		case text != "":
			environment[name] = config.Value{Text: text, Source: config.FromEnvironment}
		}
	}
	return line, environment
}

// environmentText is the value of a flag in the environment.
func environmentText(f cli.Flag) string {
	if f, ok := f.(*cli.BoolFlag); ok {
		return strconv.FormatBool(f.Value)
	}
	if f, ok := f.(cli.DocGenerationFlag); ok { // all flags of the library are
		return f.GetValue()
	}
	return ""
}

// Blame adds the file and line to the error of an option that a configuration file sets, and spells the option without
// dashes; it names the variable if the environment sets the option. It returns other errors unchanged.
func (all *Choices) Blame(err error) error {
	if p, ok := all.InFile(err); ok {
		return config.Usagef("%s", p)
	}
	if usage, ok := errors.AsType[*config.UsageError](err); ok && usage.Option != "" && all.Values[usage.Option].Source == config.FromEnvironment {
		return config.Usagef("%s: %s", VariableOf(usage.Option), usage.Reason)
	}
	return err
}

// VariableOf is the environment variable of an option.
func VariableOf(option string) string {
	return command.Env(strings.ToUpper(strings.ReplaceAll(option, "-", "_")))[0]
}

// InFile is an error about the value of an option in a configuration file.
func (all *Choices) InFile(err error) (p config.Problem, ok bool) {
	usage, ok := errors.AsType[*config.UsageError](err)
	if !ok {
		return p, false
	}
	value := all.Values[usage.Option] // there is no option without a name
	return config.Problem{File: value.File, Line: value.Line, Text: usage.Option + ": " + usage.Reason}, value.IsFromFile()
}

// toBlame is the option of the files to blame for an error: one of the profile rather than a
// general one, and the last of those. It is empty if there is none.
func (all *Choices) toBlame(mistake *config.UsageError) (name string) {
	for _, option := range mistake.Options {
		value, last := all.Values[option], all.Values[name]
		if value.IsFromFile() && (name == "" || cmp.Or(cmp.Compare(value.Source, last.Source), cmp.Compare(last.Line, value.Line)) < 0) {
			name = option
		}
	}
	return name
}

// IsFile returns an error with the path unless it is a file.
func IsFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	return err
}

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
