package credentials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
