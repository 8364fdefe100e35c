package main

import (
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"github.com/archivefs/archivefs/internal/config"
)

// noCommand says that there is no command of that name, and which may be meant.
func noCommand(path []string, name string, commands []*cli.Command) error {
	names := []string{"help"}
	for _, c := range commands {
		names = append(names, c.Name)
	}
	within := ""
	if len(path) > 0 {
		within = strings.Join(path, " ") + " "
	}
	return config.Usagef("there is no command %s%q%s", within, name, meant(name, names))
}

// noOption says that there is no option of that name, and which may be meant.
func noOption(name string, flags []cli.Flag) error {
	var names []string
	for _, f := range flags {
		for _, n := range f.Names() {
			if len(n) > 1 {
				names = append(names, dashed(n))
			}
		}
	}
	return config.Usagef("there is no option %s%s", dashed(name), meant(dashed(name), names))
}

// meant names the candidate that is most like name, if one is like it.
func meant(name string, candidates []string) string {
	const alike, boost, prefix = 0.85, 0.7, 4 // of smetrics.JaroWinkler, which ends at 1
	best, likeness := "", alike
	for _, c := range candidates {
		if l := smetrics.JaroWinkler(strings.ToLower(name), c, boost, prefix); l > likeness {
			best, likeness = c, l
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}
