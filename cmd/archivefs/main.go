// Command archivefs mounts a document archive as a file system, runs the embedded archive
// service, and talks to running mounts.
//
// Exit status: 0 clean, 1 failure, 2 wrong usage (nothing was sent).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
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
		given, ready, err := takeHandover()
		if err != nil {
			say(os.Stderr, "--daemon: read what the caller gives: %v", err)
			return 1
		}
		return run(withInvocation(ctx, &invocation{given: given}), given.Args, ready, os.Stderr)
	}
	if isHelper(newApp(io.Discard, io.Discard), args) {
		return runHelper(ctx, args, os.Stdout, os.Stderr)
	}
	return run(ctx, args, os.Stdout, os.Stderr)
}

// run carries out a command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := newApp(stdout, stderr)
	how := *invocationOf(ctx)
	how.args, how.again = args, run
	ctx = withInvocation(ctx, &how)
	arranged, err := arrange(app, args)
	if err == nil {
		err = refuse(app, arranged)
	}
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
	another := func() *cli.App { return newApp(nil, nil) }
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
		Commands: governed(nil, []*cli.Command{
			mountCommand(), unmountCommand(), openCommand(), serveCommand(), adminCommand(), statusCommand(), uploadsCommand(),
			configCommand(), loginCommand(), logoutCommand(), doctorCommand(),
			completeCommand(another), shareCommand(another),
		}),
	}
}

// invocation is how the program was called, beside its options.
type invocation struct {
	args  []string  // the command line
	fake  bool      // options are checked, and nothing is mounted
	given *handover // what the process that was called gave to this one in the background, else nil
	// again carries out another command line in this process, and returns the exit status.
	again func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

type invocationKey struct{}

// withInvocation makes how the program was called known to its commands.
func withInvocation(ctx context.Context, i *invocation) context.Context {
	return context.WithValue(ctx, invocationKey{}, i)
}

// invocationOf is how the program was called; never nil.
func invocationOf(ctx context.Context) *invocation {
	if i, ok := ctx.Value(invocationKey{}).(*invocation); ok {
		return i
	}
	return &invocation{}
}

// exitStatus is an error that was told already: the program ends with this status.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// version is what the build information says: the module's version, else the revision.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision == "" {
		return "development"
	}
	return "development-" + revision + dirty
}
