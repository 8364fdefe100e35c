package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// SecretFile reads a secret from a file; a trailing newline does not count. A file that
// others can read keeps no secret, and is refused.
func SecretFile(option, path string) (string, error) {
	secret, err := ReadSecret(path)
	if err != nil {
		return "", WrongOption(option, "%v", err)
	}
	return secret, nil
}

// ReadSecret is SecretFile for a file that no option names.
func ReadSecret(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if err := keptSecret(info, path); err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return secret, nil
}

// keptSecret refuses a file whose mode lets others read it. Its group may when root owns it:
// that is how administrators give a service its keys, and systemd its credentials. The mode of
// what is no ordinary file, as a pipe, does not count.
func keptSecret(info os.FileInfo, path string) error {
	const group, others = 0o040, 0o004
	mode := info.Mode()
	switch {
	case !mode.IsRegular() || mode&(group|others) == 0:
		return nil
	case mode&others == 0 && ownedByRoot(info):
		return nil
	}
	return errors.New("others can read " + path + " (" + mode.String() + "); keep it to yourself: chmod 600 " + path)
}

func ownedByRoot(info os.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && owner.Uid == 0
}
