package care

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/archivefs/archivefs/internal/durable"
)

const (
	manifestName = "manifest.json"
	// format is the version of a backup's layout.
	format = 1
)

// Manifest is written last, and says that a backup is whole. The directory of a backup holds
// beside it the database, under the name that the manifest tells, and contents/XX/SHA256.
type Manifest struct {
	Format   int       `json:"format"`
	Made     time.Time `json:"made"` // when the copy of the database was begun
	Database struct {
		File   string `json:"file"`
		SHA256 string `json:"sha256"`
	} `json:"database"`
	Documents int64 `json:"documents"`
	Contents  int64 `json:"contents"`
	Bytes     int64 `json:"bytes"` // of the contents
	// Lacking are contents that were damaged or missing in the archive itself.
	Lacking []string `json:"lacking,omitempty"`
}

// ReadManifest reads that of a backup.
func ReadManifest(dir string) (m Manifest, err error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName)) //nolint:gosec // the operator names the directory
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("there is no whole backup in %s: it has no %s", dir, manifestName)
	}
	if err != nil {
		return m, fmt.Errorf("read backup: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("the backup in %s is damaged: %s: %w", dir, manifestName, err)
	}
	if m.Format != format {
		return m, fmt.Errorf("the backup in %s has the format %d, this program knows %d: use a newer archivefs", dir, m.Format, format)
	}
	if m.Database.File != filepath.Base(m.Database.File) {
		return m, fmt.Errorf("the backup in %s is damaged: %s names a file elsewhere", dir, manifestName)
	}
	return m, nil
}

func (m Manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = durable.WriteFile(filepath.Join(dir, manifestName), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("end backup: %w", err)
	}
	return nil
}

// hashFile is the SHA-256 of a file, which is on disk when it returns.
func hashFile(path string) (string, error) {
	return sumOf(path, (*os.File).Sync)
}

// sumFile is the SHA-256 of a file.
func sumFile(path string) (string, error) {
	return sumOf(path, func(*os.File) error { return nil })
}

func sumOf(path string, then func(*os.File) error) (string, error) {
	file, err := os.Open(path) //nolint:gosec // of an archive or a backup
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	if err := errors.Join(err, then(file), file.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
