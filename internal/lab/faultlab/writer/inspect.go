package writer

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Found is what a process saw of a mount at rest.
type Found struct {
	Pending int               // uploads that still wait when its patience ended
	Kept    map[string][]byte // the bytes of what is not archived, by the upload's id
	Files   map[string][]byte // of the files in the folders, by their path
	Errors  []string          // of folders and their files that cannot be read
}

// restless is what status.json says as long as something is under way.
type restless struct {
	Uploads struct {
		Sending int64
		List    []struct{ ID, State, Path string }
	}
}

// Inspect waits for the mount at root to come to rest, no longer than patience, and writes
// what it finds in and below the directories, and among the uploads, to out, as JSON.
func Inspect(root string, below []string, patience time.Duration, out io.Writer) error {
	pending, err := rest(root, patience)
	if err != nil {
		return err
	}
	found := Found{Pending: pending, Kept: map[string][]byte{}, Files: map[string][]byte{}}
	kept, _ := readAll(filepath.Join(root, ".archivefs", "uploads")) // bytes that are missing are for the audit
	for name, content := range kept {
		id, _, _ := strings.Cut(name, " ")
		found.Kept[id] = content
	}
	for _, dir := range below {
		err := fs.WalkDir(os.DirFS(root), dir, func(dir string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			files, errs := readAll(filepath.Join(root, dir))
			found.Errors = append(found.Errors, errs...)
			for name, content := range files {
				found.Files[filepath.Join(dir, name)] = content
			}
			return nil
		})
		if err != nil {
			found.Errors = append(found.Errors, err.Error())
		}
	}
	return json.NewEncoder(out).Encode(found)
}

// rest waits until nothing is sent and nothing is pending, and returns how much still is.
func rest(root string, patience time.Duration) (pending int, err error) {
	deadline := time.Now().Add(patience)
	for {
		status, err := readStatus(root)
		if err != nil {
			return 0, fmt.Errorf("inspect: %w", err)
		}
		pending = 0
		for _, u := range status.Uploads.List {
			if u.State != "failed" {
				pending++
			}
		}
		if pending == 0 && status.Uploads.Sending == 0 || time.Now().After(deadline) {
			return pending, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// readStatus reads what the mount at root says about itself.
func readStatus(root string) (status restless, err error) {
	text, err := os.ReadFile(filepath.Join(root, ".archivefs", "status.json")) //nolint:gosec // the lab names it
	if err == nil {
		err = json.Unmarshal(text, &status)
	}
	return status, err
}

// readAll reads the files of a directory.
func readAll(dir string) (all map[string][]byte, errs []string) {
	all = map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return all, []string{err.Error()}
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name())) //nolint:gosec // a directory of the run
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		all[e.Name()] = content
	}
	return all, errs
}
