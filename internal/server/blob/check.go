package blob

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Check finds out whether contents can be reached, and received.
func (f *Files) Check(context.Context) error {
	if _, err := os.Stat(filepath.Join(f.dir, incoming)); err != nil {
		return fmt.Errorf("reach contents: %w", err)
	}
	return nil
}
