package cmdline

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

func testApp() *cli.App {
	return &cli.App{Name: "archivefs", Commands: Govern(nil, []*cli.Command{
		{Name: "mount", ArgsUsage: "DIR", Flags: []cli.Flag{
			&cli.DurationFlag{Name: "ttl", EnvVars: []string{"TEST_TTL"}, Value: time.Minute}, &cli.BoolFlag{Name: "read-only", Aliases: []string{"r"}},
			&cli.IntFlag{Name: "uid"}, &cli.StringFlag{Name: "user"},
		}},
		{Name: "serve"},
		{Name: "uploads", Subcommands: []*cli.Command{{Name: "list", ArgsUsage: "DIR"}}},
	})}
}

func TestCheck(t *testing.T) {
	tests := []struct{ line, variable, option, says string }{
		{"mount --ttl 5m -r --user= --uid=-1 -- DIR", "", "", ""},
		{"mount --ttl=5m --read-only=false --user -- -- DIR", "1h", "", ""},
		{"mount --help", "", "", ""},
		{"--version --", "", "", ""},
		{"uploads list -- DIR", "", "", ""},
		{"mount --ttl 5 --", "", "ttl", `--ttl: "5" is no duration; write 5s, 5m or 5h`},
		{"mount -r=maybe --", "", "read-only", `--read-only: "maybe" is neither true nor false`},
		{"mount --uid bob --", "", "uid", `--uid: "bob" is no number; id -u and id -g tell the numbers of a user`},
		{"mount --readonly --", "", "", "there is no option --readonly (did you mean --read-only?)"},
		{"mount --help", "long", "", `TEST_TTL: "long" is no duration; write for example 90s or 5m`},
		{"mount --version --", "", "", "there is no option --version"},
		{"serve -- DIR", "", "", "serve takes no operands, and was given 1"},
	}
	for _, tt := range tests {
		t.Setenv("TEST_TTL", tt.variable)
		err := Check(testApp(), append([]string{"archivefs"}, strings.Fields(tt.line)...))
		var usage *config.UsageError
		switch {
		case tt.says == "" && err != nil, tt.says != "" && (!errors.As(err, &usage) || usage.Error() != tt.says || usage.Option != tt.option):
			t.Errorf("%s: %#v, want %q", tt.line, err, tt.says)
		}
	}
}

// The library finds nothing to say of what Check lets through.
func TestTheLibraryTakesWhatCheckTakes(t *testing.T) {
	app := testApp()
	var ttl time.Duration
	var operands []string
	app.Command("mount").Action = func(c *cli.Context) error {
		ttl, operands = c.Duration("ttl"), c.Args().Slice()
		return nil
	}
	line, err := Arrange(app, []string{"archivefs", "mount", "A", "--ttl=90s", "--", "-B"})
	if err == nil {
		err = Check(app, line)
	}
	if err == nil {
		err = app.Run(line)
	}
	if err != nil || ttl != 90*time.Second || !slices.Equal(operands, []string{"A", "-B"}) {
		t.Errorf("%v, --ttl %s, operands %q", err, ttl, operands)
	}
}
