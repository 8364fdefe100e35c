package credentials

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/zalando/go-keyring"
)

// keyringService is the name under which the keyring shows what is ours.
const keyringService = "archivefs"

// keyringLimit is how long the keyring may take: a person may have to unlock it.
const keyringLimit = time.Minute

var errNoBus = errors.New("there is no session bus")

// reachKeyring returns why there can be no keyring here, else nil. Without this check the D-Bus
// library would start a bus of its own.
func reachKeyring() error {
	if runtime.GOOS != "linux" {
		return nil
	}
	if bus := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); bus != "" && bus != "autolaunch:" {
		return nil
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil { //nolint:gosec // the user's own
			return nil
		}
	}
	return errNoBus
}

// askKeyring calls do, but does not wait longer than keyringLimit for it.
func askKeyring(ctx context.Context, do func() (string, error)) (string, error) {
	if err := reachKeyring(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, keyringLimit)
	defer cancel()
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := do()
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return "", fmt.Errorf("the keyring does not answer; is it locked? %w", ctx.Err())
	}
}

func keyringGet(ctx context.Context, name string) (string, error) {
	return askKeyring(ctx, func() (string, error) { return keyring.Get(keyringService, name) })
}

func keyringSet(ctx context.Context, name, text string) error {
	_, err := askKeyring(ctx, func() (string, error) { return "", keyring.Set(keyringService, name, text) })
	return err
}

func keyringDelete(ctx context.Context, name string) error {
	_, err := askKeyring(ctx, func() (string, error) { return "", keyring.Delete(keyringService, name) })
	return err
}

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
