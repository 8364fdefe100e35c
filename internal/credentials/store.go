// Package credentials finds secrets beside options and files: in the output of a command, in the
// directory that systemd gives a service, and where login stored them, which is the keyring of
// the system or, where there is none, a file. No error and no text of a Login holds a secret.
package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/durable"
)

// Store keeps logins by name, in the keyring of the system or in files.
type Store struct {
	// Dir is where the files lie, for where there is no keyring.
	Dir string
}

// InKeyring is the place of what the keyring holds.
const InKeyring = "the system keyring"

// ErrNone says that there is no login of that name.
var ErrNone = errors.New("there is no login")

// Get returns a login and its place. The error is or wraps ErrNone when there is none.
func (s *Store) Get(ctx context.Context, name string) (login *Login, place string, err error) {
	text, ringErr := askKeyring(ctx, func() (string, error) { return keyring.Get(keyringService, name) })
	place = InKeyring
	if ringErr != nil {
		place = s.path(name)
		text, err = config.ReadSecret(place)
	}
	switch {
	case errors.Is(err, os.ErrNotExist) && (errors.Is(ringErr, keyring.ErrNotFound) || errors.Is(ringErr, errNoBus)):
		return nil, "", ErrNone
	case errors.Is(err, os.ErrNotExist):
		return nil, "", fmt.Errorf("%w, and the keyring cannot be asked: %w", ErrNone, ringErr)
	case err != nil:
		return nil, "", err
	}
	login = &Login{}
	if json.Unmarshal([]byte(text), login) != nil { // whose error may quote it
		return nil, "", fmt.Errorf("what %s holds is no login of this program", place)
	}
	return login, place, nil
}

// Put stores a login and returns its place. For a file, why is what is wrong with the keyring. A
// login that the keyring takes is removed from the file.
func (s *Store) Put(ctx context.Context, name string, login *Login) (place string, why, err error) {
	text, err := json.Marshal(login) //nolint:gosec // this is what keeps secrets
	if err != nil {
		return "", nil, err
	}
	if _, why = askKeyring(ctx, func() (string, error) { return "", keyring.Set(keyringService, name, string(text)) }); why == nil {
		return InKeyring, nil, s.removeFile(name)
	}
	if err := durable.MkdirAll(s.Dir, 0o700); err != nil {
		return "", why, fmt.Errorf("keep the login: %w", err)
	}
	if err := durable.WriteFile(s.path(name), append(text, '\n'), 0o600); err != nil {
		return "", why, fmt.Errorf("keep the login: %w", err)
	}
	return s.path(name), why, nil
}

// Forget removes a login wherever it is. Nothing to remove is no error.
func (s *Store) Forget(ctx context.Context, name string) error {
	_, err := askKeyring(ctx, func() (string, error) { return "", keyring.Delete(keyringService, name) })
	if errors.Is(err, keyring.ErrNotFound) || errors.Is(err, errNoBus) {
		err = nil
	}
	if err != nil {
		if _, statErr := os.Stat(s.path(name)); statErr == nil {
			err = nil // it is kept in the file because there is no keyring
		} else {
			err = fmt.Errorf("remove the login from the keyring: %w", err)
		}
	}
	return errors.Join(err, s.removeFile(name))
}

func (s *Store) removeFile(name string) error {
	if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the login: %w", err)
	}
	_ = os.Remove(s.Dir) // which goes with its last file
	return nil
}

// path is the file of a login.
func (s *Store) path(name string) string { return filepath.Join(s.Dir, url.PathEscape(name)+".json") }

// Directory returns the credential of that name which the service manager passed
// (LoadCredential=, systemd.exec(5)); empty when it passed none.
func Directory(name string) (string, error) {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return "", nil
	}
	secret, err := config.ReadSecret(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("credential %s of the service manager: %w", name, err)
	}
	return secret, nil
}

// Login is what login keeps for an archive. Printing it in any way but as JSON, which is for
// the store, shows no secret.
type Login struct {
	// Service is the address that the credentials are for: they are sent to no other.
	Service  string `json:"service"`
	APIKey   string `json:"apiKey"`
	CloudID  string `json:"cloudId,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	// Identity is whose the credentials are by the user's word (login --replaces); empty for nobody's else.
	Identity string `json:"identity,omitempty"`
}

// Format writes whose credentials they are, whatever the verb.
func (l Login) Format(f fmt.State, _ rune) {
	// A fmt.State does not fail; what is behind it reports its own errors.
	_, _ = io.WriteString(f, "login at "+l.Service)
}

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
