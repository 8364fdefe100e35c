package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// File is a configuration file: options for all, and options for profiles.
type File struct {
	Path     string
	Defaults Layer
	Profiles map[string]Layer
	// Searches are the saved searches of each profile; those for all are under the empty name.
	Searches map[string][]Search
}

// profileKey begins the keys of profiles.
const profileKey = "profile"

// parser reads one file. It goes on after a mistake, so that a person sees all of them, and
// keeps the line of each value, which decoding into a map does not.
type parser struct {
	file     *File
	options  map[string]Option
	toml     unstable.Parser
	section  []string // of the keys that come next
	ignored  bool     // the section is a problem itself, and not read
	problems Problems
}

// Parse reads the text of a file. Keys are the names of the options; a profile is a section
// [profile.NAME], and saved searches are in [searches] and [profile.NAME.searches].
func Parse(path string, text []byte, options []Option) (*File, Problems) {
	p := &parser{
		file:    &File{Path: path, Defaults: Layer{}, Profiles: map[string]Layer{}, Searches: map[string][]Search{}},
		options: map[string]Option{},
	}
	for _, o := range options {
		p.options[o.Name] = o
	}
	p.toml.Reset(p.syntax(text))
	for p.toml.NextExpression() {
		switch e := p.toml.Expression(); e.Kind {
		case unstable.KeyValue:
			if !p.ignored {
				p.keyValue(e)
			}
		case unstable.Table, unstable.ArrayTable:
			p.head(e)
		}
	}
	return p.file, p.problems
}

// syntax notes lines that are no TOML and keys that are repeated, and returns the text without
// those lines. It ends before a line that leaves open where the next ones belong.
func (p *parser) syntax(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for last := 0; ; {
		err := toml.Unmarshal(bytes.Join(lines, nil), &map[string]any{})
		if err == nil {
			return bytes.Join(lines, nil)
		}
		at, reason := 0, err.Error()
		if wrong := new(toml.DecodeError); errors.As(err, &wrong) {
			at, _ = wrong.Position()
			reason = strings.TrimPrefix(wrong.Error(), "toml: ")
		}
		p.wrong(at, "this is no TOML: %s", reason)
		if at <= last || at > len(lines) {
			return nil
		}
		if before, line := bytes.Join(lines[:at-1], nil), lines[at-1]; bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) ||
			isTOML(line) && !isTOML(before) { // the mistake is in a line above it
			return before
		}
		last, lines[at-1] = at, []byte("\n")
	}
}

func isTOML(text []byte) bool { return toml.Unmarshal(text, &map[string]any{}) == nil }

func (p *parser) wrong(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{p.file.Path, line, fmt.Sprintf(format, args...)})
}

// key returns the parts of a dotted key, and its line.
func (p *parser) key(e *unstable.Node) (parts []string, line int) {
	for keys := e.Key(); keys.Next(); {
		if line == 0 {
			line = p.toml.Shape(keys.Node().Raw).Start.Line
		}
		parts = append(parts, string(keys.Node().Data))
	}
	return parts, line
}

// head reads the head of a section.
func (p *parser) head(e *unstable.Node) {
	parts, line := p.key(e)
	p.section, p.ignored = parts, false
	switch {
	case e.Kind == unstable.Table && len(parts) == 1 && (parts[0] == profileKey || parts[0] == searchesKey):
	case e.Kind == unstable.Table && parts[0] == profileKey && (len(parts) == 2 || len(parts) == 3 && parts[2] == searchesKey):
		p.ignored = p.profile(parts[1], line) == nil
	default:
		p.ignored = true
		p.wrong(line, "there is no section [%s]; a profile is [profile.%s]", strings.Join(parts, "."), parts[len(parts)-1])
	}
}

// profile returns the layer of a profile; nil when its name is not allowed.
func (p *parser) profile(name string, line int) Layer {
	if known, ok := p.file.Profiles[name]; ok {
		return known
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsFunc(name, noNameRune) {
		p.wrong(line, "%q is no name of a profile: those have letters, digits, \"-\", \"_\" and \".\", and begin with no \"-\"", name)
		return nil
	}
	p.file.Profiles[name] = Layer{}
	return p.file.Profiles[name]
}

// noNameRune reports whether a name of a profile cannot hold r. A "/" would make it a path.
func noNameRune(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune(`/\:'"`, r)
}

// keyValue reads one key and its value.
func (p *parser) keyValue(e *unstable.Node) {
	parts, line := p.key(e)
	parts = append(slices.Clone(p.section), parts...)
	switch {
	case len(parts) == 2 && parts[0] == searchesKey:
		p.search("", parts[1], line, e.Value())
	case len(parts) == 4 && parts[0] == profileKey && parts[2] == searchesKey:
		if p.profile(parts[1], line) != nil {
			p.search(parts[1], parts[3], line, e.Value())
		}
	case parts[len(parts)-1] == searchesKey && (len(parts) == 1 || len(parts) == 3 && parts[0] == profileKey):
		p.wrong(line, "%s: searches have a section of their own, [searches] or [profile.NAME.searches], and in it a line for each", strings.Join(parts, "."))
	case len(parts) == 1 && parts[0] != profileKey:
		p.option(p.file.Defaults, FromDefaults, parts[0], line, e.Value())
	case len(parts) == 3 && parts[0] == profileKey:
		if layer := p.profile(parts[1], line); layer != nil {
			p.option(layer, FromProfile, parts[2], line, e.Value())
		}
	default:
		p.wrong(line, "%s: a profile has a section of its own, [profile.NAME], and in it a line for each option", strings.Join(parts, "."))
	}
}

// option reads the value of one option.
func (p *parser) option(into Layer, source Source, name string, line int, value *unstable.Node) {
	o, known := p.options[name]
	if name == Mountpoint {
		o, known = Option{Name: name, Path: true}, true
		if source == FromDefaults {
			p.wrong(line, "mountpoint: only a profile has one; write it into a section [profile.NAME]")
			return
		}
	}
	if !known {
		p.wrong(line, "there is no key %q%s", name, Meant(name, append(p.names(), Mountpoint)))
		return
	}
	text, err := o.read(value)
	if err != nil {
		p.wrong(line, "%s: %v", name, err)
		if text = string(value.Data); text == "" || o.Path {
			return
		}
	}
	into[name] = Value{Text: text, Source: source, File: p.file.Path, Line: line, Mistyped: err != nil}
}

// read returns the value of an option as it would be on a command line. It checks the type, so
// that nobody wonders what read-only = "no" means; the command checks the value.
func (o Option) read(value *unstable.Node) (string, error) {
	text := string(value.Data)
	switch o.Kind {
	case Switch:
		if value.Kind != unstable.Bool {
			return "", errors.New("write true or false, without quotes")
		}
		return text, nil
	case Number:
		if value.Kind != unstable.Integer {
			return "", errors.New("write a whole number, without quotes")
		}
		return strings.ReplaceAll(text, "_", ""), nil
	}
	switch {
	case value.Kind == unstable.String && o.Path:
		return absolute(text)
	case value.Kind == unstable.String, value.Kind == unstable.LocalDate:
		return text, nil
	case value.Kind == unstable.Integer && o.Kind == Duration:
		return "", fmt.Errorf("%s is no duration; write %s = \"%ss\" for seconds, or another unit", text, o.Name, text)
	}
	return "", errors.New("write a text in quotes")
}

// absolute returns a path of a file, in which "~/" is the user's home. Another path that is
// not absolute would depend on the directory in which the program happens to run.
func absolute(path string) (string, error) {
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := homeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, below), nil
	}
	if path != "" && !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q: a path in a configuration file begins with / or ~/", path)
	}
	return path, nil
}

// systemFile is the configuration that the administrator gives to all users.
const systemFile = "/etc/archivefs/config.toml"

// Places are the paths of the configuration files, the user's before the system's. A user without a home has none.
func Places() []string {
	base, err := xdg("XDG_CONFIG_HOME", ".config", "config")
	if err != nil {
		return []string{systemFile}
	}
	return []string{filepath.Join(base, "archivefs", "config.toml"), systemFile}
}

// LoginDir is where login keeps credentials when the system has no keyring. State is never
// copied along with configuration.
func LoginDir() (string, error) {
	base, err := xdg("XDG_STATE_HOME", ".local/state", "api-key-file")
	return filepath.Join(base, "archivefs", "login"), err
}

// Files are the configuration files that were read, the strongest first.
type Files []*File

// Load reads configuration files; those that are not there say nothing.
func Load(paths []string, options []Option) (Files, Problems) {
	var files Files
	var problems Problems
	for _, path := range paths {
		file, wrong := load(path, options)
		if file != nil {
			files = append(files, file)
		}
		problems = append(problems, wrong...)
	}
	return files, problems
}

// load reads one file: nil when it is not there, or is not well kept.
func load(path string, options []Option) (*File, Problems) {
	f, err := os.Open(path) //nolint:gosec // the user's configuration
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, Problems{{path, 0, reason(err)}}
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, Problems{{path, 0, reason(err)}}
	}
	file, problems := Parse(path, text, options)
	if err := wellKept(f, file.firstSecret(options)); err != nil {
		return nil, append(problems, Problem{path, 0, err.Error()}) // somebody else may have named a command there
	}
	return file, problems
}

// reason is what went wrong with a file, without its path.
func reason(err error) string {
	if wrong := new(fs.PathError); errors.As(err, &wrong) {
		return wrong.Err.Error()
	}
	return err.Error()
}

// firstSecret names an option of the file that is a secret; empty when there is none.
func (f *File) firstSecret(options []Option) string {
	for _, o := range options {
		if !o.Secret {
			continue
		}
		if _, has := f.Defaults[o.Name]; has {
			return o.Name
		}
		for _, profile := range f.Profiles {
			if _, has := profile[o.Name]; has {
				return o.Name
			}
		}
	}
	return ""
}

// wellKept refuses a configuration that anybody can write, because it can name commands, and
// one with a secret that others can read.
func wellKept(f *os.File, secret string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("everybody can write to it (%v); chmod o-w %s", info.Mode().Perm(), f.Name())
	}
	if secret == "" {
		return nil
	}
	if err := keptSecret(info, f.Name()); err != nil {
		return fmt.Errorf("it holds a secret (%s), and %w", secret, err)
	}
	return nil
}

// Profiles are the names of all profiles, in the order of the alphabet.
func (files Files) Profiles() []string {
	var names []string
	for _, f := range files {
		for name := range f.Profiles {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Has reports whether there is a profile of that name.
func (files Files) Has(profile string) bool { return slices.Contains(files.Profiles(), profile) }

// Layers are what the files say for a profile (empty for none): its sections, the user's first, then what is for all.
func (files Files) Layers(profile string) []Layer {
	var layers []Layer
	for _, f := range files {
		if p, ok := f.Profiles[profile]; ok {
			layers = append(layers, p)
		}
	}
	for _, f := range files {
		layers = append(layers, f.Defaults)
	}
	return layers
}
