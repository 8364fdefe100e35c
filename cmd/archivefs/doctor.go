package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "examine what a mount needs, and say how to mend it",
		ArgsUsage: "[PROFILE] [MOUNTPOINT...]",
		Description: "Examines the configuration, FUSE, the service and the credentials, the disk, and what is mounted.\n" +
			"Each check prints a line that begins with ok, warning or failure, and ends with what to do.\n" +
			"Nothing is changed. The exit status is 0 when nothing failed, and 1 otherwise.\n\n" +
			"   archivefs doctor office\n" +
			"   archivefs doctor --base-url https://archive.example --api-key-file KEY ~/Archive",
		Flags:        append(mountCommand().Flags, jsonFlag()),
		OnUsageError: usageError,
		Action:       examine,
	}
}

// examine runs all checks and prints their findings.
func examine(c *cli.Context) error {
	findings, err := checkup(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = printJSON(c, findings)
	} else {
		err = printFindings(c.App.Writer, findings)
	}
	if failed := doctor.Failures(findings); failed > 0 && err == nil {
		return fmt.Errorf("%d of %s failed", failed, plural(len(findings), "check"))
	}
	return err
}

// checkup makes all findings. Wrong usage is an error; a wrong configuration is a finding, and
// so are missing credentials: what can be examined without them is.
func checkup(c *cli.Context) ([]doctor.Finding, error) {
	p := &patient{c: c}
	err := p.configure()
	findings := p.machine()
	var usage *config.UsageError
	switch {
	case err == nil:
		findings = append(findings, doctor.Fine("configuration", p.files()))
	case errors.As(err, &usage) && p.misconfigured:
		do := "correct that"
		if !strings.Contains(err.Error(), "archivefs config check") {
			do += "; archivefs config check shows all mistakes"
		}
		findings = append(findings, doctor.Fail("configuration", err.Error(), do))
	default:
		return nil, err
	}
	switch {
	case p.settings == nil:
	case p.settings.embedded:
		findings = append(findings, p.data()...)
	default:
		findings = append(findings, p.service()...)
	}
	return append(findings, p.mounts()...), nil
}

// printFindings writes a line for each finding, with what to do at its end.
func printFindings(out io.Writer, findings []doctor.Finding) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, f := range findings {
		text := f.Text
		if f.Do != "" {
			text += "; " + f.Do
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Level, f.Check, text) //nolint:errcheck // Flush tells
	}
	return w.Flush()
}
