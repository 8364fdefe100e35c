package settings

import (
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

func TestReadLimits(t *testing.T) {
	for _, tt := range []struct {
		name     string
		values   config.Layer
		up, down int64
	}{
		{"none by default", config.Layer{}, 0, 0},
		{"powers of ten, and of two", config.Layer{"upload-limit": {Text: "500K"}, "download-limit": {Text: "2MiB"}}, 500_000, 2 << 20},
		{"none, of a profile, over that of all", config.Layer{"upload-limit": {Text: "0"}, "download-limit": {Text: "0"}}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := (&Choices{Values: tt.values}).context()
			if err != nil {
				t.Fatal(err)
			}
			s, err := ReadOptions(c, "")
			if err != nil || s.Client.UploadLimit != tt.up || s.Client.DownloadLimit != tt.down {
				t.Errorf("got %d and %d, %v", s.Client.UploadLimit, s.Client.DownloadLimit, err)
			}
		})
	}
}
