package blob_test

import (
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server/blob"
)

func TestAddressesOfBuckets(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "eu-west-1")
	tests := []struct {
		text, named, region string
		pathStyle           string // "" for the default
	}{
		{"s3://archive", "s3://archive at https://s3.amazonaws.com", "eu-west-1", ""},
		{"s3://archive/?region=eu-central-1", "s3://archive at https://s3.amazonaws.com", "eu-central-1", ""},
		{"s3://archive/a/b/?endpoint=http://127.0.0.1:9000/&path-style=true", "s3://archive/a/b at http://127.0.0.1:9000", "eu-west-1", "true"},
		{"s3://archive?endpoint=https%3A%2F%2Fs3.example.com&path-style=false&timeout=1m", "s3://archive at https://s3.example.com", "eu-west-1", "false"},
	}
	for _, tt := range tests {
		a, err := blob.ParseAddress(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		style := ""
		if a.PathStyle != nil {
			style = map[bool]string{true: "true", false: "false"}[*a.PathStyle]
		}
		if a.String() != tt.named || a.Region != tt.region || style != tt.pathStyle {
			t.Errorf("%s is read as %v in %s, path-style %q", tt.text, a, a.Region, style)
		}
	}
}

func TestWhatIsNoAddressOfABucket(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "write for example",
		"archive":                              "write for example",
		"https://archive":                      "write for example",
		"s3:///archive":                        "write for example",
		"s3://key:hunter2@archive":             "AWS_SECRET_ACCESS_KEY",
		"s3://archive?endpoint=s3.example.com": "endpoint",
		"s3://archive?endpoint=http://a:hunter2@b": "endpoint",
		"s3://archive?endpoint=http://host/path":   "endpoint",
		"s3://archive?path-style=perhaps":          "path-style",
		"s3://archive?region=":                     "region",
		"s3://archive?timeout=20":                  "timeout",
		"s3://archive?timeout=-1s":                 "timeout",
		"s3://archive?secret=hunter2":              "none of",
		"s3://archive?a;b":                         "question mark",
	} {
		_, err := blob.ParseAddress(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
	}
}
