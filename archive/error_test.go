package archive

import (
	"errors"
	"testing"
)

func TestErrorReadsAsASentence(t *testing.T) {
	for want, err := range map[string]*Error{
		"list the folder: timed out: no answer":            {Op: "list the folder", Kind: KindTimeout, Err: errors.New("no answer")},
		"timed out: no answer":                             {Kind: KindTimeout, Err: errors.New("no answer")},
		"archive the file: service busy (HTTP 503): later": {Op: "archive the file", Kind: KindBusy, Status: 503, Detail: "later"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
