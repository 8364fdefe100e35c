package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

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
