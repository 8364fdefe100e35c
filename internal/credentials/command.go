package credentials

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// CommandLimit is how long a command may take: a person may have to type a passphrase.
const CommandLimit = time.Minute

// longestSecret bounds what is kept of a command's output, in bytes.
const longestSecret = 64 << 10

// Command runs a command line with sh and returns the first line of its output. The command has
// stdin and stderr as if the user had called it. It ends with ctx, which should have a deadline.
func Command(ctx context.Context, line string, stdin io.Reader, stderr io.Writer) (string, error) {
	var out firstLine
	command := exec.CommandContext(ctx, "sh", "-c", line) //nolint:gosec // the user names the command
	command.Stdin, command.Stdout, command.Stderr = stdin, &out, stderr
	command.WaitDelay = time.Second // its children may hold the pipe open
	err := command.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("the command did not end in time: %w", ctx.Err())
	case errors.As(err, &ended):
		return "", fmt.Errorf("the command failed: %s", ended.ProcessState)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", fmt.Errorf("the command cannot be run: %w", err)
	}
	secret := strings.TrimSuffix(string(out.text), "\r")
	if secret == "" {
		return "", errors.New("the first line that the command prints is empty")
	}
	return secret, nil
}

// firstLine keeps the first line of what is written to it.
type firstLine struct {
	text  []byte
	whole bool
}

// Write implements io.Writer. It accepts everything, so that the command can end.
func (l *firstLine) Write(p []byte) (int, error) {
	line, _, ended := bytes.Cut(p, []byte("\n"))
	if !l.whole {
		l.text = append(l.text, line[:min(len(line), longestSecret-len(l.text))]...)
		l.whole = ended
	}
	return len(p), nil
}
