package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
)

// withProfiles gives the user a configuration with two profiles.
func withProfiles(t *testing.T) (home string) {
	t.Helper()
	home = isolate(t)
	dir := filepath.Join(home, ".config", "archivefs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte("[profile.office]\n[profile.old]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// offered is what a shell is told: which paths it offers itself, and words with what they mean.
type offered struct {
	paths string
	words [][2]string
}

// offeredFor is how a command line may go on. words follow the name of the program; the last one is at
// the cursor.
func offeredFor(t *testing.T, words []string) (o offered) {
	t.Helper()
	var out strings.Builder
	app := newApp(&out, io.Discard)
	app.Reader = strings.NewReader(strings.Join(words, "\x00") + "\x00")
	if err := app.RunContext(t.Context(), []string{"archivefs", "complete"}); err != nil {
		t.Fatal(err)
	}
	paths, rest, _ := strings.Cut(out.String(), "\n")
	o.paths = paths
	for line := range strings.Lines(rest) {
		word, meaning, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		o.words = append(o.words, [2]string{word, meaning})
	}
	return o
}

func TestComplete(t *testing.T) {
	home := withProfiles(t)
	other := filepath.Join(home, "other.toml")
	if err := os.WriteFile(other, []byte("[profile.elsewhere]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		line  string // up to the cursor
		paths string
		words string // all of them; with "..." at the end, some
	}{
		{"", "none", "mount unmount open serve admin status uploads keep free search config login logout doctor share help"},
		{"un", "none", "unmount"},
		{"co", "none", "config"}, // and not what is hidden
		{"pack", "none", ""},
		{"bogus ", "none", "mount unmount ..."},
		{"--v", "none", "--version"},
		{"uploads ", "none", "list show send retry discard export"},
		{"help up", "none", "uploads"},
		{"help uploads ", "none", "list show send retry discard export"},
		{"help bogus ", "none", ""},
		{"mount ", "directories", "office old"},
		{"mount of", "directories", "office"},
		{"mount office ", "directories", ""},
		{"mount office DIR ", "none", ""},
		{"mount --read-only of", "directories", "office"},
		{"mount --ttl 5m of", "directories", "office"},
		{"mount --config " + other + " ", "directories", "elsewhere"},
		{"mount --config=" + other + " ", "directories", "elsewhere"},
		{"mount --config=~/other.toml ", "directories", "elsewhere"},
		{"mount -- --r", "directories", ""},
		{"admin restore --data d ", "directories", ""},
		{"mount --read", "none", "--read-only"},
		{"mount --cpu", "none", ""}, // hidden
		{"mount --h", "none", "--help"},
		{"mount --ttl ", "none", ""},
		{"mount --api-key-file ", "files", ""},
		{"mount --api-key-file=", "files", ""},
		{"mount --data ", "directories", ""},
		{"mount --writes ", "none", "sync async"},
		{"mount --writes a", "none", "async"},
		{"mount --notify ", "none", "auto none"},
		{"mount --writes=a", "none", "--writes=async"},
		{"mount --bogus=a", "none", ""},
		{"mount --content ", "none", "auto original pdf data"},
		{"mount --log-level=", "none", "--log-level=error --log-level=warn --log-level=info --log-level=debug"},
		{"mount -o ", "none", "ro base_url= allow_other ..."},
		{"mount -o ro,read", "none", "ro,read_only"},
		{"mount -o=ro,tt", "none", "-o=ro,ttl="},
		{"config check ", "files", ""},
		{"config show o", "none", "office old"},
		{"login ", "none", "office old"},
		{"doctor of", "directories", "office"},
		{"doctor office DIR ", "directories", "..."},
		{"serve ", "none", ""},
		{"admin ", "none", "tenants mandators inboxes users keys auto-export ..."},
		{"admin keys ", "none", "list add revoke"},
		{"admin keys add --scope ", "none", "read write read,write"},
		{"admin keys add --mand", "none", "--mandator"},
		{"admin users list --data ", "directories", ""},
		{"status ", "directories", "..."},
		{"uploads retry DIR ", "none", ""},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got := offeredFor(t, strings.Split(tt.line, " "))
			if got.paths != tt.paths {
				t.Errorf("offers paths: %s, want %s", got.paths, tt.paths)
			}
			want := strings.Fields(tt.words)
			some := len(want) > 0 && want[len(want)-1] == "..."
			want = slices.DeleteFunc(want, func(word string) bool { return word == "..." })
			for _, word := range want {
				if !slices.ContainsFunc(got.words, func(w [2]string) bool { return w[0] == word }) {
					t.Errorf("does not offer %q", word)
				}
			}
			if !some && len(got.words) != len(want) {
				t.Errorf("offers %q, want %q", got.words, want)
			}
		})
	}
}

// What is offered as a value of an option is taken, and nothing else.
func TestCompleteOffersRightValues(t *testing.T) {
	isolate(t)
	offered := 0
	for _, f := range settings.Flags() {
		name := f.Names()[0]
		if name == "o" {
			continue
		}
		var values []string
		for _, w := range offeredFor(t, []string{"mount", "--" + name, ""}).words {
			values = append(values, w[0])
		}
		if len(values) == 0 {
			continue
		}
		offered++
		if byDefault := f.(cli.DocGenerationFlag).GetValue(); byDefault != "" && !slices.Contains(values, byDefault) {
			t.Errorf("--%s: the default %q is not offered", name, byDefault)
		}
		for _, value := range append(slices.Clone(values), "bogus") {
			_, _, stderr := call(t, "mount", "--"+name, value, "/nowhere/at/all")
			if refused := strings.Contains(stderr, "--"+name+": "); refused != (value == "bogus") {
				t.Errorf("--%s %s: %s", name, value, stderr)
			}
		}
	}
	if offered == 0 {
		t.Error("no values are offered")
	}
}

// asArchivefs makes a directory in which the command archivefs is this test binary.
func asArchivefs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "archivefs")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCompletionOfBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	if version, _ := exec.Command(bash, "-c", "echo ${BASH_VERSINFO[0]}").Output(); string(version) < "4" { //nolint:noctx // it ends at once
		t.Skip("this bash is too old to complete")
	}
	withProfiles(t)
	tests := []struct {
		words []string // as bash takes the line apart
		want  string
	}{
		{[]string{"archivefs", "un"}, "unmount"},
		{[]string{"archivefs", "mount", "o"}, "office old"},
		{[]string{"archivefs", "mount", "--api-key", "k$(touch hacked)", "of"}, "office"},
		{[]string{"archivefs", "mount", "--writes", "=", "a"}, "async"},
		{[]string{"archivefs", "mount", "--writes", "="}, "sync async"},
		{[]string{"archivefs", "mount", "--base-url", "=", "https", ":", "//archive.example", "of"}, "office"},
		{[]string{"archivefs", "mount", "-o", "ro,tt"}, "ro,ttl="},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.words, " "), func(t *testing.T) {
			const script = `
				compopt() { :; } # is for the shell that completes
				source internal/manual/share/archivefs.bash
				[[ $(complete -p archivefs) == *_archivefs* ]] || echo 'no completion of archivefs'
				COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
				_archivefs archivefs && echo "${COMPREPLY[*]}"`
			shell := exec.CommandContext(t.Context(), bash, append([]string{"--norc", "-c", script, "bash"}, tt.words...)...)
			shell.Env = append(os.Environ(), asProgram+"=1", "PATH="+asArchivefs(t)+":"+os.Getenv("PATH"))
			got, err := shell.CombinedOutput()
			if err != nil || strings.TrimSpace(string(got)) != tt.want {
				t.Errorf("offers %q, want %q (%v)", got, tt.want, err)
			}
		})
	}
}

// The ids of uploads are those of the mount that is named, by its directory or its profile.
func TestCompleteUploads(t *testing.T) {
	b := newBusy(t, nil, "a b.txt", "c.txt")
	_, status, err := mounted.Status(b.dir)
	if err != nil || len(status.Uploads.List) != 2 {
		t.Fatalf("%+v, %v", status, err)
	}
	first, second := status.Uploads.List[0].ID, status.Uploads.List[1].ID
	other := filepath.Join(t.TempDir(), "other.toml")
	if err := os.WriteFile(other, []byte("[profile.busy]\nmountpoint = \""+b.dir+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shared := first[:len(first)-1]
	for second[:len(shared)] != shared {
		shared = shared[:len(shared)-1]
	}
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"uploads", "retry", b.dir, ""}, first + " " + second},
		{[]string{"uploads", "discard", b.dir, shared}, first + " " + second},
		{[]string{"uploads", "export", b.dir, second}, second},
		{[]string{"uploads", "export", b.dir, first, ""}, second},
		{[]string{"uploads", "export", "--config", other, "busy", ""}, first + " " + second},
		{[]string{"uploads", "retry", "busy", ""}, ""},
		{[]string{"uploads", "retry", "--bogus", b.dir, ""}, first + " " + second},
		{[]string{"uploads", "retry", filepath.Join(b.dir, "nothing"), ""}, ""},
		{[]string{"uploads", "retry", "", ""}, ""},
		{[]string{"uploads", "list", b.dir, ""}, ""},
		{[]string{"admin", "keys", "revoke", ""}, ""},
	} {
		got := offeredFor(t, tt.words)
		var offered []string
		for _, w := range got.words {
			offered = append(offered, w[0])
			if path := map[string]string{first: "My Archive/a b.txt", second: "My Archive/c.txt"}[w[0]]; w[1] != "pending: "+path {
				t.Errorf("%s means %q", w[0], w[1])
			}
		}
		if strings.Join(offered, " ") != tt.want || got.paths != "none" {
			t.Errorf("%q: offers %q and %s, want %q", tt.words, offered, got.paths, tt.want)
		}
	}
	b.gate.open()
	b.program.stop()
}

// A mount that does not answer keeps nobody waiting.
func TestCompleteUploadsOfAMountThatHangs(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	status := filepath.Join(dir, ".archivefs", "status.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(status), 0o700), unix.Mkfifo(status, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := offeredFor(t, []string{"uploads", "retry", dir, ""}); len(got.words) > 0 {
		t.Errorf("offers %q", got.words)
	}
	f, err := os.OpenFile(status, os.O_WRONLY, 0) // whoever asked goes on
	if err := errors.Join(err, f.Close()); err != nil {
		t.Error(err)
	}
}
