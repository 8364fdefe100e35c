package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

// write makes a file of the given mode.
func write(t *testing.T, mode os.FileMode, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}

func TestPlaces(t *testing.T) {
	t.Setenv("HOME", "/home/erika")
	t.Setenv("XDG_CONFIG_HOME", "")
	want := "/home/erika/.config/archivefs/config.toml /etc/archivefs/config.toml"
	if got := strings.Join(config.Places(), " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	t.Setenv("XDG_CONFIG_HOME", "/conf")
	if got := config.Places()[0]; got != "/conf/archivefs/config.toml" {
		t.Errorf("with XDG_CONFIG_HOME it is %s", got)
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	if got := config.Places(); len(got) != 2 || !strings.HasSuffix(got[0], "/.config/archivefs/config.toml") {
		t.Errorf("without a home in the environment they are %s", got)
	}
}

// Of what the user and the administrator say the user's word counts; a profile counts more
// than what is for all.
func TestLayersOfFiles(t *testing.T) {
	user := write(t, 0o600, "ttl = \"1m\"\nconnections = 1\n[profile.office]\nbase-url = \"https://user\"\n")
	system := write(t, 0o644, "ttl = \"2m\"\nread-only = true\n[profile.office]\nbase-url = \"https://system\"\nttl = \"3m\"\n[profile.other]\n")
	files, problems := config.Load([]string{user, system, "/nowhere/config.toml"}, options)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	for profile, want := range map[string]map[string]string{
		"":       {"ttl": "1m", "connections": "1", "read-only": "true"},
		"office": {"ttl": "3m", "connections": "1", "read-only": "true", "base-url": "https://user"},
		"other":  {"ttl": "1m", "connections": "1", "read-only": "true"},
	} {
		got := config.Merge(files.Layers(profile), nil)
		if len(got) != len(want) {
			t.Errorf("profile %q says %v, want %v", profile, got, want)
		}
		for name, text := range want {
			if got[name].Text != text {
				t.Errorf("%s of profile %q is %q, want %q", name, profile, got[name].Text, text)
			}
		}
	}
	if !files.Has("other") || files.Has("none") || files.Has("") {
		t.Error("the wrong profiles are there")
	}
}

func TestMergeOfAlternatives(t *testing.T) {
	flag, profile := config.Layer{"key": {Text: "k"}}, config.Layer{"key-file": {Text: "f"}, "ttl": {Text: "1m"}}
	groups := [][]string{{"key", "key-file"}}
	if got := config.Merge([]config.Layer{flag, profile}, groups); len(got) != 2 || got["key"].Text != "k" || got["ttl"].Text != "1m" {
		t.Errorf("a key file in a profile stands beside a key on the command line: %v", got)
	}
	// Two of one layer are for the command to complain about.
	if got := config.Merge([]config.Layer{{"key": {}, "key-file": {}}}, groups); len(got) != 2 {
		t.Errorf("one of two is gone: %v", got)
	}
}

func TestLoadRefusesFilesOfOthers(t *testing.T) {
	const plain, secret = "ttl = \"1m\"\n", "[profile.a]\napi-key = \"geheim\"\n"
	tests := []struct {
		name string
		text string
		mode os.FileMode
		want string // of the problem; empty for none
	}{
		{"readable, without a secret", plain, 0o644, ""},
		{"a secret, for the user alone", secret, 0o600, ""},
		{"a secret that all can read", secret, 0o604, "it holds a secret (api-key), and others can read"},
		{"writable for all", plain, 0o646, "everybody can write to it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.mode, tt.text)
			_, problems := config.Load([]string{path}, options)
			var got strings.Builder
			for _, p := range problems {
				got.WriteString(p.String())
			}
			if tt.want == "" && got.String() != "" || tt.want != "" && !strings.HasPrefix(got.String(), path+": "+tt.want) {
				t.Errorf("got %q, want %q", got.String(), tt.want)
			}
			if strings.Contains(got.String(), "geheim") {
				t.Errorf("a secret shows in %q", got.String())
			}
		})
	}
}

func TestLoadOfWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir() // also root cannot read that as a file
	_, problems := config.Load([]string{dir}, options)
	if len(problems) != 1 || problems[0].String() != dir+": is a directory" {
		t.Errorf("got %v, want one problem that names the directory", problems)
	}
}

func TestSecretFileThatOthersCanRead(t *testing.T) {
	tests := []struct {
		name  string
		mode  os.FileMode
		owner int // a user id; needs root
		ok    bool
	}{
		{"for the user alone", 0o600, os.Geteuid(), true},
		{"read only", 0o400, os.Geteuid(), true},
		{"for all", 0o644, os.Geteuid(), false},
		{"for others but not the group", 0o604, os.Geteuid(), false},
		{"for a group, of root", 0o640, 0, true},
		{"for all, of root", 0o444, 0, false},
		{"for a group, of a user", 0o640, 1000, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.mode, "geheim\n")
			if tt.owner != os.Geteuid() {
				if os.Geteuid() != 0 {
					t.Skip("only root gives files away")
				}
				if err := os.Chown(path, tt.owner, -1); err != nil {
					t.Fatal(err)
				}
			}
			secret, err := config.SecretFile("api-key-file", path)
			if tt.ok && (err != nil || secret != "geheim") {
				t.Errorf("got %q, %v", secret, err)
			}
			if !tt.ok {
				wantUsage(t, err, "api-key-file")
				if !strings.Contains(err.Error(), "others can read "+path) || !strings.HasSuffix(err.Error(), "chmod 600 "+path) {
					t.Errorf("%q does not name the reason and the cure", err)
				}
			}
		})
	}
}
