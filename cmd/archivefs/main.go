// Command archivefs mounts a document archive as a file system, runs the embedded archive
// service, and talks to running mounts.
//
// Exit status: 0 clean, 1 failure, 2 wrong usage (nothing was sent).
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // small systems have no list of time zones

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/admin"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mount"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/serve"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/share"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/shell"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/user"
	"github.com/archivefs/archivefs/internal/config"
)

func main() {
	args := cmdline.TakeSecrets(os.Args)
	_ = config.LocalZone() // the commands whose times depend on it say what is wrong
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := begin(ctx, args)
	stop()
	os.Exit(code)
}

// begin handles the name by which the program was called, and returns the exit status.
func begin(ctx context.Context, args []string) int {
	if os.Getenv(mount.HandoverVariable) != "" {
		ctx, given, ready, err := mount.TakeHandover(ctx)
		if err != nil {
			command.Say(os.Stderr, "--daemon: read what the caller gives: %v", err)
			return 1
		}
		return run(command.WithInvocation(ctx, &command.Invocation{Given: given}), given.Args, ready, os.Stderr)
	}
	if os.Getenv(mount.HeraldVariable) != "" {
		if err := mount.Proclaim(os.Stdin, os.Stdout); err != nil {
			return 1
		}
		return 0
	}
	if isHelper(newApp(io.Discard, io.Discard), args) {
		return runHelper(ctx, args, os.Stdout, os.Stderr)
	}
	return run(ctx, args, os.Stdout, os.Stderr)
}

// run executes a command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := newApp(stdout, stderr)
	how := *command.InvocationOf(ctx)
	how.Args, how.Again = args, run
	ctx = command.WithInvocation(ctx, &how)
	arranged, err := cmdline.Arrange(app, args)
	if err == nil {
		err = cmdline.Check(app, arranged)
	}
	if err == nil {
		cmdline.WriteHelp(app, arranged[min(1, len(arranged)):])
		err = app.RunContext(ctx, arranged)
	}
	var usage *config.UsageError
	var ended command.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return int(ended)
	case errors.As(err, &usage):
		command.Complain(stderr, "%s; see %s", err, cmdline.HelpCommand(app, args))
		return 2
	default:
		command.Complain(stderr, "%s", err)
		return 1
	}
}

// packageFiles writes the files of packages; nil in the program that they install.
var packageFiles func(newApp func() *cli.App) *cli.Command

func newApp(stdout, stderr io.Writer) *cli.App {
	another := func() *cli.App { return newApp(nil, nil) }
	commands := []*cli.Command{
		mount.Command(), user.UnmountCommand(), user.OpenCommand(), serve.Command(), admin.Command(), user.StatusCommand(), user.UploadsCommand(),
		user.KeepCommand(), user.FreeCommand(), user.SearchCommand(),
		user.ConfigCommand(), user.LoginCommand(), user.LogoutCommand(), user.DoctorCommand(),
		share.Command(), shell.CompleteCommand(another),
	}
	if packageFiles != nil {
		commands = append(commands, packageFiles(another))
	}
	return &cli.App{
		Name:  "archivefs",
		Usage: "mount a document archive as a file system",
		Description: "Mandators and folders are directories, documents are files. Copy a file in to archive it,\n" +
			"move one out of an inbox to file it, make a directory to create a folder.\n\n" +
			"   archivefs mount ~/Archive                    an archive of your own, on this machine\n" +
			"   archivefs mount --base-url https://HOST:8081 --api-key-file KEYFILE ~/Archive",
		Version:                   command.Version(),
		Writer:                    stdout,
		ErrWriter:                 stderr,
		HideHelpCommand:           true, // cmdline.Arrange answers help
		DisableSliceFlagSeparator: true,
		// run prints errors and makes the exit status.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   cmdline.UsageError,
		Action:         cmdline.ChooseCommand(),
		Commands:       cmdline.Govern(nil, commands),
	}
}

// mount(8) leaves file systems that it does not know to a program of their own (EXTERNAL
// HELPERS there): for mount -t archivefs and mount -t fuse.archivefs it calls
//
//	mount.archivefs SPEC DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE.SUBTYPE]
//
// and where there is no such program for the second of them, mount.fuse3(8) calls
//
//	archivefs SPEC DIR -o OPTIONS
//
// Both become a mount in the background.

// helperNames are the names of the program as a helper.
var helperNames = []string{"mount.archivefs", "mount.fuse.archivefs"}

// Exit statuses of mount(8).
const (
	helperUsage   = 1
	helperFailure = 32
)

// isHelper reports whether mount(8) called the program. No command has the name of an option, which
// mount.fuse3 always passes.
func isHelper(app *cli.App, args []string) bool {
	if len(args) > 0 && slices.Contains(helperNames, filepath.Base(args[0])) {
		return true
	}
	return len(args) == 5 && args[3] == "-o" && filepath.IsAbs(args[2]) && !strings.HasPrefix(args[1], "-") &&
		app.Command(args[1]) == nil && args[1] != "help"
}

// helperCall is a call by mount(8).
type helperCall struct {
	spec, dir string
	options   []string // values of -o
	sloppy    bool     // ignore unknown options
	fake      bool     // do not mount
	verbose   bool
}

// runHelper mounts, and returns the exit status for mount(8).
func runHelper(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	call, err := readHelper(args[1:])
	var line []string
	if err == nil {
		line, err = call.commandLine()
	}
	if err != nil {
		command.Say(stderr, "%s", err)
		return helperUsage
	}
	if !call.verbose {
		stdout = io.Discard
	}
	switch run(command.WithInvocation(ctx, &command.Invocation{Fake: call.fake}), line, stdout, stderr) {
	case 0:
		return 0
	case 2:
		return helperUsage
	}
	return helperFailure
}

// readHelper reads the arguments of a helper.
func readHelper(args []string) (*helperCall, error) {
	call := &helperCall{}
	var operands []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if len(arg) < 2 || arg[0] != '-' {
			operands = append(operands, arg)
			continue
		}
		for letters := arg[1:]; letters != ""; {
			letter := letters[0]
			letters = letters[1:]
			if !strings.ContainsRune("oNt", rune(letter)) {
				if err := call.set(letter); err != nil {
					return nil, err
				}
				continue
			}
			if letters == "" && len(args) == 0 {
				return nil, config.Usagef("-%c needs a value", letter)
			}
			if letters == "" {
				letters, args = args[0], args[1:]
			}
			switch letter {
			case 'o':
				call.options = append(call.options, letters)
			case 'N':
				return nil, config.Usagef("-N: a mount in another namespace has to be started there, as by nsenter --mount")
			}
			letters = ""
		}
	}
	if len(operands) != 2 {
		return nil, config.Usagef("a mount needs two operands, what to mount and the directory, and was given %d", len(operands))
	}
	call.spec, call.dir = operands[0], operands[1]
	return call, nil
}

// set handles an option without a value.
func (call *helperCall) set(letter byte) error {
	switch letter {
	case 's':
		call.sloppy = true
	case 'f':
		call.fake = true
	case 'v':
		call.verbose = true
	case 'n': // there is no /etc/mtab
	default:
		return config.Usagef("there is no option -%c", letter)
	}
	return nil
}

// commandLine returns the command line of mount. The source is the address of a service, a profile,
// or the word embedded, for the archive of --data.
func (call *helperCall) commandLine() ([]string, error) {
	// mount -a recognises a mounted line by it.
	line := []string{"archivefs", "mount", "--daemon", "--fsname=" + call.spec}
	for _, value := range call.options {
		options, err := config.MountOptions(value)
		if err != nil {
			return nil, err
		}
		for _, option := range options {
			taken, err := call.takes(option)
			if err != nil {
				return nil, err
			}
			if taken {
				line = append(line, option)
			}
		}
	}
	switch {
	case strings.Contains(call.spec, "://"):
		return append(line, "--base-url="+call.spec, "--", call.dir), nil
	case call.spec == "embedded":
		return append(line, "--embedded", "--", call.dir), nil
	}
	return append(line, "--", call.spec, call.dir), nil
}

// takes reports whether mount has the option. Secrets are refused: everybody can read /etc/fstab,
// and the arguments of mount(8).
func (call *helperCall) takes(option string) (bool, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(option, "--"), "=")
	if slices.Contains(command.SecretFlags, name) {
		return false, config.Usagef("-o %s: everybody can read the options of a mount; name a file that only its user can read, with %s_file=FILE",
			cmdline.Underscored(name), cmdline.Underscored(name))
	}
	if call.sloppy {
		_, known := cmdline.TakesValue(settings.Flags())[name]
		return known, nil
	}
	return true, nil
}
