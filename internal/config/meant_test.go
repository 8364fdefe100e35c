package config_test

import (
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

func TestMeant(t *testing.T) {
	for name, want := range map[string]string{
		"ofice": " (did you mean office?)", "OPEN BILLS": " (did you mean Open bills?)", "open bills": " (did you mean Open bills?)", "other": "",
	} {
		if got := config.Meant(name, []string{"office", "Open bills"}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
