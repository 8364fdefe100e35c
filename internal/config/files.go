package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// systemFile is the configuration that the administrator gives to all users.
const systemFile = "/etc/archivefs/config.toml"

// Places are the paths of the configuration files, the user's before the system's. A user
// without a home has none.
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

// Layers are what the files say for a profile (empty for none): its sections, the user's
// first, then what is for all.
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
