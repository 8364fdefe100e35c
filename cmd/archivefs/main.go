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

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

func main() {
	args := takeSecrets(os.Args)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := begin(ctx, args)
	stop()
	os.Exit(code)
}

// begin finds out as what the program was called, and returns its exit status.
func begin(ctx context.Context, args []string) int {
	if os.Getenv(handoverVariable) != "" {
		return runBackground(ctx)
	}
	if isHelper(newApp(io.Discard, io.Discard), args) {
		return runHelper(ctx, args, os.Stdout, os.Stderr)
	}
	return run(withInvocation(ctx, &invocation{args: args}), args, os.Stdout, os.Stderr)
}

// run carries out a command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := newApp(stdout, stderr)
	arranged, err := arrange(app, args)
	if err == nil {
		writeHelp(app, arranged[min(1, len(arranged)):])
		err = app.RunContext(ctx, arranged)
	}
	var usage *config.UsageError
	var ended exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return int(ended)
	case errors.As(err, &usage):
		complain(stderr, "%s; see %s", err, helpCommand(app, args))
		return 2
	default:
		complain(stderr, "%s", err)
		return 1
	}
}

func newApp(stdout, stderr io.Writer) *cli.App {
	return &cli.App{
		Name:  "archivefs",
		Usage: "mount a document archive as a file system",
		Description: "Mandators and folders are directories, documents are files. Copy a file in to archive it,\n" +
			"move one out of an inbox to file it, make a directory to create a folder.\n\n" +
			"   archivefs mount ~/Archive                    an archive of your own, on this machine\n" +
			"   archivefs mount --base-url https://HOST:8081 --api-key-file KEYFILE ~/Archive",
		Version:                   version(),
		Writer:                    stdout,
		ErrWriter:                 stderr,
		HideHelpCommand:           true, // arrange knows help
		DisableSliceFlagSeparator: true,
		// Errors are printed and turned into an exit status by run.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError,
		Action:         chooseCommand(),
		Commands: []*cli.Command{
			mountCommand(), unmountCommand(), openCommand(), serveCommand(), adminCommand(), statusCommand(), uploadsCommand(),
			configCommand(), loginCommand(), logoutCommand(), doctorCommand(),
			completeCommand(), shareCommand(),
		},
	}
}
