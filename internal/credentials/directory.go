package credentials

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/archivefs/archivefs/internal/config"
)

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
