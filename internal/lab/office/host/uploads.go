//go:build linux

package host

import (
	"context"
	"encoding/json"
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

// Retry has a failed upload sent again.
func (h *Host) Retry(ctx context.Context, id string) error {
	_, err := h.run(ctx, h.program, "uploads", "retry", h.Mount, id)
	return err
}
