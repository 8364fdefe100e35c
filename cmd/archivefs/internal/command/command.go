package command

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
)

// Handover is the input of a process in the background.
type Handover struct {
	Args        []string
	Credentials CallerCredentials
	Login       string // where the credentials are stored; empty if options name them
	Identity    string // by the user's word
}

// CallerCredentials are credentials without the methods that hide secrets from encoders.
type CallerCredentials struct{ APIKey, CloudID, User, Password string }

// Invocation is how the program was called, without its options.
type Invocation struct {
	Args  []string  // the command line
	Fake  bool      // only check the options
	Given *Handover // the handover in a process in the background, else nil
	// Again executes another command line in this process, and returns the exit status.
	Again func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

type invocationKey struct{}

// WithInvocation passes the invocation to the commands.
func WithInvocation(ctx context.Context, i *Invocation) context.Context {
	return context.WithValue(ctx, invocationKey{}, i)
}

// InvocationOf returns the invocation; never nil.
func InvocationOf(ctx context.Context) *Invocation {
	if i, ok := ctx.Value(invocationKey{}).(*Invocation); ok {
		return i
	}
	return &Invocation{}
}

// ExitStatus is an error that was printed already: the program ends with this status.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Version is the module's version in the build information, else the revision.
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

// Env is the environment variable of an option.
func Env(name string) []string { return []string{"ARCHIVEFS_" + name} }
