package command

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
)

// Handover is what the second process is given.
type Handover struct {
	Args        []string
	Credentials CallerCredentials
	Login       string // where the credentials are kept; empty when options name them
}

// CallerCredentials are credentials that an encoder does not hide.
type CallerCredentials struct{ APIKey, CloudID, User, Password string }

// Invocation is how the program was called, beside its options.
type Invocation struct {
	Args  []string  // the command line
	Fake  bool      // options are checked, and nothing is mounted
	Given *Handover // what the process that was called gave to this one in the background, else nil
	// Again carries out another command line in this process, and returns the exit status.
	Again func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

type invocationKey struct{}

// WithInvocation makes how the program was called known to its commands.
func WithInvocation(ctx context.Context, i *Invocation) context.Context {
	return context.WithValue(ctx, invocationKey{}, i)
}

// InvocationOf is how the program was called; never nil.
func InvocationOf(ctx context.Context) *Invocation {
	if i, ok := ctx.Value(invocationKey{}).(*Invocation); ok {
		return i
	}
	return &Invocation{}
}

// ExitStatus is an error that was told already: the program ends with this status.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Version is what the build information says: the module's version, else the revision.
func Version() string {
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

// Env is the name of an option in the environment.
func Env(name string) []string { return []string{"ARCHIVEFS_" + name} }
