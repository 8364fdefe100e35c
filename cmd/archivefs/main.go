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
	"syscall"
	_ "time/tzdata" // small systems have no list of time zones

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/admin"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mount"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/serve"
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
