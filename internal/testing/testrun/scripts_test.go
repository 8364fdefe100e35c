//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever asks a script how it is used is told so, on standard output, and nothing else is done:
// there are none of the programs that it would need for that.
func TestScriptsTellHowTheyAreUsed(t *testing.T) {
	programs := t.TempDir()
	for _, name := range []string{"bash", "dirname", "realpath", "uname"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(programs, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"demo", "lint", "package", "setup", "test", "test-boot", "test-fresh", "test-package"} {
		for _, word := range []string{"--help", "-h"} {
			var stdout, stderr strings.Builder
			cmd := exec.CommandContext(t.Context(), filepath.Join("../../../scripts", name), word)
			cmd.Env = []string{"PATH=" + programs, "HOME=" + t.TempDir()}
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			if err != nil || stderr.Len() > 0 || !strings.HasPrefix(stdout.String(), "usage: ") || strings.Count(stdout.String(), "\n") != 1 {
				t.Errorf("scripts/%s %s: %v\nstandard output: %q\nstandard error: %q", name, word, err, &stdout, &stderr)
			}
		}
	}
}
