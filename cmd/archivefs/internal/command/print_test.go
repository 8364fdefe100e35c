package command

import (
	"testing"
)

func TestPlainDefaults(t *testing.T) {
	for text, want := range map[string]string{`"10GiB"`: "10GiB", "1m0s": "1m", "1m30s": "1m30s", "3s": "3s", "16": "16", "you": "you"} {
		if got := Plain(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}
