package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/config"
)

func configCommand() *cli.Command {
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
		Flags: mountFlags(),
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

func configCheckCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "tell what is wrong in FILE, or in the files that mount reads",
		ArgsUsage: "[FILE]",
		Description: "Prints a line for each mistake, as FILE:LINE: TEXT. The exit status is 0 when there is none. No\n" +
			"command of the configuration is run, and the service is not asked: archivefs doctor does that.",
		Action: checkConfig,
	}
}

func checkConfig(c *cli.Context) error {
	if c.NArg() > 1 {
		return config.Usagef("check takes one FILE at most, and was given %d operands", c.NArg())
	}
	paths := config.Places()
	if c.Args().Present() {
		paths = []string{c.Args().First()}
		if err := isFile(paths[0]); err != nil {
			return config.Usagef("%v", err)
		}
	}
	files, problems := config.Load(paths, fileOptions())
	problems = append(problems, wrongValues(files)...).Sort()
	for _, p := range problems {
		if _, err := fmt.Fprintln(c.App.Writer, p); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("the configuration has %s", plural(len(problems), "mistake"))
	}
	if len(files) == 0 {
		_, err := fmt.Fprintf(c.App.Writer, "there is no configuration: neither %s nor %s\n", paths[0], paths[len(paths)-1])
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(c.App.Writer, "%s: right, with %s\n", f.Path, plural(len(f.Profiles), "profile")); err != nil {
			return err
		}
	}
	return nil
}

// wrongValues tries each option of the files by itself, and then each profile as a mount
// would, without what needs the service or a command.
func wrongValues(files config.Files) (problems config.Problems) {
	for _, f := range files {
		layers := []config.Layer{f.Defaults}
		for _, p := range f.Profiles {
			layers = append(layers, p)
		}
		for _, layer := range layers {
			for name, value := range layer {
				problems = append(problems, try(name, value)...)
			}
		}
	}
	for _, profile := range append([]string{""}, files.Profiles()...) {
		problems = append(problems, wrongTogether(profile, config.Merge(files.Layers(profile), alternatives))...)
	}
	return problems
}

// wrongTogether tells what is wrong with the options of a profile together. After each mistake
// it goes on without the option that is to blame, and is silent about what may come of that.
func wrongTogether(profile string, values config.Layer) (problems config.Problems) {
	blamed := map[string]bool{}
	for {
		all := &choices{profile: profile, values: values}
		mistake := all.mistake()
		if mistake == nil {
			return problems
		}
		name := all.toBlame(mistake)
		value := values[name]
		at, own := all.inFile(mistake)
		if !own {
			at = config.Problem{File: value.File, Line: value.Line, Text: mistake.Error()}
			if value.Source == config.FromProfile {
				at.Text = "profile " + profile + ": " + at.Text
			}
		}
		if !slices.ContainsFunc(mistake.Options, func(n string) bool { return blamed[n] }) {
			problems = append(problems, at)
		}
		if name == "" {
			return problems
		}
		for _, n := range mistake.Options {
			blamed[n] = true
		}
		delete(values, name)
	}
}

// try reads one option as a mount does and tells what is wrong with it by itself: it may lack
// what stands beside it.
func try(name string, value config.Value) config.Problems {
	all := &choices{values: config.Layer{name: value}}
	if mistake := all.mistake(); mistake != nil {
		if p, own := all.inFile(mistake); own {
			return config.Problems{p}
		}
	}
	return nil
}

// mistake is the first one that a mount finds in these options; nil when there is none.
func (all *choices) mistake() (usage *config.UsageError) {
	errors.As(all.read(), &usage)
	return usage
}

// context is that of a mount for which these options are chosen.
func (all *choices) context() (*cli.Context, error) {
	command := &cli.Command{Flags: mountFlags()}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	for _, f := range command.Flags {
		if err := withoutEnvironment(f).Apply(set); err != nil {
			return nil, err
		}
	}
	c := cli.NewContext(&cli.App{Writer: io.Discard, ErrWriter: io.Discard}, set, nil)
	c.Command = command
	return c, all.apply(c)
}

// read reads the options with the code of mount. Credentials are not put together, because
// that would run commands; their files are looked at.
func (all *choices) read() error {
	c, err := all.context()
	if err != nil {
		return err
	}
	s, err := readOptions(c, all.profile)
	if err != nil {
		return err
	}
	if err := tryClient(s, apiclient.Credentials{CloudID: c.String("cloud-id"), User: c.String("user")}); err != nil {
		return err
	}
	for _, name := range secretFlags {
		if err := onlyOne(c, name); err != nil {
			return err
		}
		if path := c.String(name + "-file"); path != "" {
			if _, err := config.SecretFile(name+"-file", path); err != nil {
				return err
			}
		}
	}
	return nil
}

// tryClient makes the client that a mount would have, whose secrets are not known.
func tryClient(s *mountSettings, cred apiclient.Credentials) error {
	if s.embedded {
		return nil
	}
	cred.APIKey = "unknown"
	if cred.User != "" {
		cred.Password = "unknown"
	}
	cfg := s.client
	cfg.Credentials = cred
	client, err := apiclient.New(cfg)
	if err != nil {
		return wrongSetting(err)
	}
	client.Close()
	return nil
}

// withoutEnvironment makes a flag deaf to the environment, which may differ where the file
// is used.
func withoutEnvironment(f cli.Flag) cli.Flag {
	switch f := f.(type) {
	case *cli.StringFlag:
		f.EnvVars = nil
	case *cli.BoolFlag:
		f.EnvVars = nil
	case *cli.IntFlag:
		f.EnvVars = nil
	case *cli.DurationFlag:
		f.EnvVars = nil
	}
	return f
}
