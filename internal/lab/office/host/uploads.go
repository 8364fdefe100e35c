//go:build linux

package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Upload is what the mount has not archived.
type Upload struct {
	ID         string `json:"id"`
	State      string `json:"state"`
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	Incomplete bool   `json:"incomplete"`
	Error      string `json:"error"`
}

// Uploads are what the mount has not archived, and files that stay on its machine.
func (h *Host) Uploads(ctx context.Context) (all []Upload, err error) {
	out, err := h.run(ctx, h.program, "uploads", "list", "--json", h.Mount)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(out), &all)
	return all, err
}

// Requests is how many requests of an operation the mount has sent.
func (h *Host) Requests(ctx context.Context, operation string) (n int, err error) {
	out, err := h.run(ctx, h.program, "status", "--json", h.Mount)
	if err != nil {
		return 0, err
	}
	var status struct {
		Requests []struct {
			Operation string `json:"operation"`
			Requests  int    `json:"requests"`
		} `json:"requests"`
	}
	err = json.Unmarshal([]byte(out), &status)
	for _, r := range status.Requests {
		if r.Operation == operation {
			n += r.Requests
		}
	}
	return n, err
}

// Export is what the mount has of an upload.
func (h *Host) Export(ctx context.Context, id string) ([]byte, error) {
	dir, err := os.MkdirTemp(h.dir, "export-*")
	if err != nil {
		return nil, err
	}
	out, err := h.run(ctx, "env", "-C", dir, h.program, "uploads", "export", h.Mount, id) // it writes to where it is
	if err != nil {
		return nil, err
	}
	_, name, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "  ")
	content, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // in a new directory
	return content, errors.Join(err, os.RemoveAll(dir))
}

// Send ends the time of grace of everything, until nothing waits any more.
func (h *Host) Send(ctx context.Context) error {
	return Until(ctx, "an end of the uploads", func() (bool, error) {
		_, sending := h.run(ctx, h.program, "uploads", "send", h.Mount) // it fails if one of them does
		all, err := h.Uploads(ctx)
		if err != nil {
			return false, errors.Join(err, sending)
		}
		return !slices.ContainsFunc(all, func(u Upload) bool { return u.State == "pending" }), nil
	})
}

// Retry has a failed upload sent again.
func (h *Host) Retry(ctx context.Context, id string) error {
	_, err := h.run(ctx, h.program, "uploads", "retry", h.Mount, id)
	return err
}
