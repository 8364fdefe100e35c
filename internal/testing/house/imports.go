package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/OpenPeeDeeP/depguard/v2"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// config is what is read of .golangci.yml: its import table.
type config struct {
	Linters struct {
		Settings struct {
			Depguard struct {
				Rules map[string]struct {
					Mode  string `yaml:"list-mode"`
					Files []string
					Allow []string
					Deny  []struct{ Pkg, Desc string }
				}
			}
		}
	}
}

// checkImports returns an error for each import that the table of .golangci.yml in dir forbids.
func checkImports(dir string, ps []*packages.Package) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, ".golangci.yml")) //nolint:gosec // the repository's own
	if err != nil {
		return err
	}
	var c config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return fmt.Errorf(".golangci.yml: %w", err)
	}
	settings := depguard.LinterSettings{}
	for name, rule := range c.Linters.Settings.Depguard.Rules {
		list := &depguard.List{ListMode: rule.Mode, Allow: rule.Allow, Deny: map[string]string{}}
		for _, f := range rule.Files {
			list.Files = append(list.Files, strings.ReplaceAll(f, "${config-path}", dir))
		}
		for _, d := range rule.Deny {
			list.Deny[d.Pkg] = d.Desc
		}
		settings[name] = list
	}
	if len(settings) == 0 {
		return errors.New(".golangci.yml has no import table")
	}
	analyzer, err := depguard.NewAnalyzer(&settings)
	if err != nil {
		return fmt.Errorf(".golangci.yml: %w", err)
	}
	var errs []error
	for _, p := range ps {
		_, err := analyzer.Run(&analysis.Pass{Fset: p.Fset, Files: p.Syntax, Report: func(d analysis.Diagnostic) {
			errs = append(errs, fmt.Errorf("%s: %s", p.Fset.Position(d.Pos), d.Message))
		}})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
