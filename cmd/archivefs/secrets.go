package main

import (
	"strings"
	"unsafe"
)

// secretFlags are the options whose values are secrets.
var secretFlags = []string{"api-key", "password", "database"}

// takeSecrets returns a copy of the arguments and overwrites the secrets in the original,
// which is the memory that the kernel shows to ps (proc_pid_cmdline(5)).
func takeSecrets(args []string) []string {
	own := make([]string, len(args))
	for i, a := range args {
		own[i] = strings.Clone(a)
	}
	for i, a := range own {
		switch {
		case i > 0 && isSecret(own[i-1]):
			wipe(args[i])
		case holdsSecret(a):
			wipe(args[i][strings.IndexByte(a, '=')+1:])
		}
	}
	return own
}

// isSecret reports whether the value of the option arg, which follows it, is a secret.
// The value of -o may hold one.
func isSecret(arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if name == arg {
		return false
	}
	for _, s := range secretFlags {
		if name == s {
			return true
		}
	}
	return name == "o"
}

// holdsSecret reports whether arg is an option with its value, a secret.
func holdsSecret(arg string) bool {
	name, _, ok := strings.Cut(arg, "=")
	return ok && isSecret(name) || strings.HasPrefix(arg, "-o") && strings.Contains(arg, "=")
}

// wipe overwrites the bytes of s, which must be an argument of the process: those lie in
// writable memory that the runtime does not copy.
func wipe(s string) {
	if s == "" {
		return
	}
	b := unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see above
	for i := range b {
		b[i] = 'x'
	}
}
