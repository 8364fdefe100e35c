package main

import (
	"context"
	"fmt"
)

// invocation is how the program was called, beside its options.
type invocation struct {
	args  []string  // the command line
	fake  bool      // options are checked, and nothing is mounted
	given *handover // what the process that was called gave to this one in the background, else nil
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
