package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// configure writes the user's configuration file and returns its path.
func configure(t *testing.T, home, text string) string {
	t.Helper()
	path := filepath.Join(home, ".config", "archivefs", "config.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shown are the value and the source of each option that archivefs config show prints.
func shown(t *testing.T, args ...string) map[string]string {
	t.Helper()
	status, stdout, stderr := call(t, append([]string{"config", "show"}, args...)...)
	if status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	all := map[string]string{}
	for line := range strings.Lines(stdout) {
		fields := strings.Fields(line)
		all[fields[0]] = strings.Join(fields[1:], " ")
	}
	return all
}

func TestConfigShow(t *testing.T) {
	home := isolate(t)
	file := configure(t, home, `ttl = "5m"
api-key = "k-geheim"
retry-for = "9s"
connections = 3
[profile.office]
base-url = "https://archive.example"
ttl = "2m"
timeout = "7s"
mountpoint = "~/Archive"
read-only = true
`)
	t.Setenv("ARCHIVEFS_TIMEOUT", "8s")
	t.Setenv("ARCHIVEFS_RETRY_FOR", "8s")
	got := shown(t, "office", "--retry-for=7s", "-o", "cache_size=1GiB")
	for name, want := range map[string]string{
		"retry-for":   "7s command line",
		"cache-size":  "1GiB command line",
		"timeout":     "8s environment, ARCHIVEFS_TIMEOUT",
		"ttl":         "2m profile office, " + file + ":7",
		"base-url":    "https://archive.example profile office, " + file + ":6",
		"mountpoint":  home + "/Archive profile office, " + file + ":9",
		"read-only":   "true profile office, " + file + ":10",
		"connections": "3 for all, " + file + ":4",
		"api-key":     "*** for all, " + file + ":2",
		"umask":       "077 built in",
		"drain":       "2m built in",
		"uid":         "you built in",
		"user":        "- built in",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if got := shown(t, "--base-url=https://erika:p-geheim@archive.example")["base-url"]; strings.Contains(got, "geheim") {
		t.Errorf("a password in the address shows: %s", got)
	}
	if got := shown(t)["ttl"]; got != "5m for all, "+file+":1" {
		t.Errorf("without a profile ttl is %q", got)
	}
}

// What says the same in another way gives way as well.
func TestAlternativesOfTheConfiguration(t *testing.T) {
	home := isolate(t)
	configure(t, home, "[profile.a]\napi-key = \"k-geheim\"\nbase-url = \"https://archive.example\"\n")
	got := shown(t, "a", "--api-key-file=/key", "--embedded")
	if got["api-key"] != "- built in" || got["base-url"] != "- built in" || got["api-key-file"] != "/key command line" {
		t.Errorf("the profile is stronger than the command line: %q", got)
	}
	t.Setenv("ARCHIVEFS_API_KEY", "k-geheim")
	if got := shown(t, "a", "--api-key-file=/key"); got["api-key"] != "- built in" {
		t.Errorf("the environment is stronger than the command line: %q", got)
	}
	if got := shown(t, "a"); got["api-key"] != "*** environment, ARCHIVEFS_API_KEY" {
		t.Errorf("the profile is stronger than the environment: %q", got)
	}
}

func TestAServiceOnTheCommandLineIsNotEmbedded(t *testing.T) {
	isolate(t)
	t.Setenv("ARCHIVEFS_EMBEDDED", "true")
	status, _, stderr := call(t, "mount", t.TempDir(), "--base-url", refusing(t), "--api-key", "k-geheim")
	if status != 1 || !strings.Contains(stderr, "check the API key") {
		t.Errorf("exit status %d, error %q; want the service to be asked", status, stderr)
	}
	home := isolate(t)
	configure(t, home, "base-url = \"https://archive.example\"\n[profile.own]\nembedded = true\n")
	if got := shown(t, "own"); got["base-url"] != "- built in" {
		t.Errorf("the profile has a service and is embedded: %q", got["base-url"])
	}
	if got := shown(t, "--embedded=false"); got["base-url"] == "- built in" {
		t.Error("what is switched off on the command line hides the service")
	}
}

func TestAnEmptyVariableSaysNothing(t *testing.T) {
	home := isolate(t)
	file := configure(t, home, "user = \"erika\"\nttl = \"5m\"\n")
	t.Setenv("ARCHIVEFS_USER", "")
	t.Setenv("ARCHIVEFS_TTL", "")
	got := shown(t)
	if got["user"] != "erika for all, "+file+":1" || got["ttl"] != "5m for all, "+file+":2" {
		t.Errorf("got %q and %q", got["user"], got["ttl"])
	}
}

func TestConfigOfACommandLine(t *testing.T) {
	home := isolate(t)
	configure(t, home, "ttl = \"5m\"\n")
	other := filepath.Join(home, "other.toml")
	if err := os.WriteFile(other, []byte("connections = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, "--config", other); got["ttl"] != "1m built in" || got["connections"] != "2 for all, "+other+":1" {
		t.Errorf("--config does not replace the user's file: %q", got)
	}
	status, _, stderr := call(t, "config", "show", "--config", other+"-missing")
	if status != 2 || !strings.Contains(stderr, "--config: stat "+other+"-missing: no such file") {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
}

func TestMountReadsTheConfiguration(t *testing.T) {
	const file = `
[profile.office]
base-url = "REFUSING"
api-key = "k-geheim"
mountpoint = "~/Archive"

[profile.placeless]
base-url = "REFUSING"
api-key = "k-geheim"

[profile.bad]
writes = "maybe"

[profile.slow]
ttl = "long"
`
	home := isolate(t)
	path := configure(t, home, strings.ReplaceAll(file, "REFUSING", refusing(t)))
	mountpoint := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "Archive"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		line   string
		status int
		want   string
	}{
		{"office", 1, "check the API key"},
		{"office " + mountpoint, 1, "check the API key"},
		{"placeless " + mountpoint, 1, "check the API key"},
		{"placeless", 2, "the profile placeless names no mountpoint; give one, as in archivefs mount placeless ~/Archive, or write ./placeless for the directory of that name; see"},
		{"offic " + mountpoint, 2, `there is no profile "offic" in the configuration (did you mean office?); mount takes one MOUNTPOINT, and a PROFILE before it; see`},
		{"ofice", 2, `there is no profile "ofice" (did you mean office?), and no directory of that name; see archivefs mount --help`},
		{"Elsewhere", 2, `there is no profile "Elsewhere", and no directory of that name; see archivefs mount --help`},
		{"./Elsewhere", 1, "/Elsewhere to mount at"},
		{"bad " + mountpoint, 2, path + `:12: writes: "maybe" is neither sync nor async; see`},
		{"bad " + mountpoint + " --writes=perhaps", 2, `--writes: "perhaps" is neither sync nor async; see`},
		{"slow " + mountpoint, 2, path + `:15: ttl: "long" is no duration; write for example 90s or 5m; see`},
		{"./office", 1, "/office to mount at"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			status, stdout, stderr := call(t, append([]string{"mount"}, strings.Fields(tt.line)...)...)
			if status != tt.status || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit status %d, output %q, error %q; want %d and %q", status, stdout, stderr, tt.status, tt.want)
			}
			if strings.Contains(stderr, "geheim") {
				t.Errorf("a secret shows in %q", stderr)
			}
		})
	}
}

// A word that is nearly a profile is taken for nothing else, by any command.
func TestNearlyAProfile(t *testing.T) {
	home := isolate(t)
	t.Chdir(home)
	path := configure(t, home, "[profile.office]\nmountpoint = \"~/Archive\"\n[profile.placeless]\n")
	for _, command := range []string{"mount", "unmount", "status", "doctor", "uploads list", "uploads retry", "uploads export", "uploads discard"} {
		more := map[string][]string{"uploads discard": {"ID"}}[command]
		line := strings.Fields(command)
		see := "; see archivefs " + command + " --help\n"
		wantCall(t, 2, `there is no profile "ofice" (did you mean office?), and no directory of that name`+see, slices.Concat(line, []string{"ofice"}, more)...)
		wantCall(t, 2, "an operand is empty; name a directory or a profile"+see, slices.Concat(line, []string{""}, more)...)
		if command != "mount" && command != "doctor" {
			wantCall(t, 1, "there is no archive mounted at "+home+"/Archive", slices.Concat(line, []string{"office"}, more)...)
			wantCall(t, 2, "the profile placeless names no mountpoint; give the directory itself", slices.Concat(line, []string{"placeless"}, more)...)
		}
	}
	wantCall(t, 2, "an operand is empty", "mount", "office", "")
	wantCall(t, 2, "an operand is empty", "doctor", "office", "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantCall(t, 1, `there is no directory "office", and no profile of that name, because the configuration has none; make the directory, or write the section [profile.NAME] in `+path+"\n", "mount", "office")
}

func TestMountRefusesABrokenConfiguration(t *testing.T) {
	home := isolate(t)
	path := configure(t, home, "\ntttl = \"5m\"\n")
	status, _, stderr := call(t, "mount", t.TempDir())
	want := "archivefs: " + path + `:2: there is no key "tttl" (did you mean ttl?); see archivefs mount --help` + "\n"
	if status != 2 || stderr != want {
		t.Errorf("exit status %d, error %q; want %q", status, stderr, want)
	}
}

func TestConfigCheck(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing in it", "", "FILE: right, with 0 profiles\n"},
		{"right", "ttl = \"1m\"\n[profile.a]\nbase-url = \"https://archive.example\"\nuser = \"erika\"\n", "FILE: right, with 1 profile\n"},
		{
			"several mistakes", "tttl = 5\nwrites = \"maybe\"\n[profile.a]\ncache-size = \"big\"\nttl = \"-1s\"\nlog-level = \"loud\"\n",
			"FILE:1: there is no key \"tttl\" (did you mean ttl?)\n" +
				"FILE:2: writes: \"maybe\" is neither sync nor async\n" +
				"FILE:4: cache-size: \"big\" is no size; write for example 512MiB or 10GiB\n" +
				"FILE:5: ttl: a duration is not negative\n" +
				"FILE:6: log-level: \"loud\" is none of error, warn, info, debug\n",
		},
		{
			"mistakes that hide others",
			"writes = async\n" +
				"connections = \"0\"\n" +
				"read-only = \"no\"\n" +
				"ttl = \"5m\"\nttl = \"6m\"\n" +
				"[profile.a]\nbase-url = \"https://archive.example\"\nembedded = true\ncache-size = 5\nclient-key = \"/key\"\n",
			"FILE:1: this is no TOML: unexpected character U+0061 'a' at start of value\n" +
				"FILE:2: connections: write a whole number, without quotes\n" +
				"FILE:2: connections: at least one request must be in flight\n" +
				"FILE:3: read-only: write true or false, without quotes\n" +
				"FILE:5: this is no TOML: key ttl is already defined\n" +
				"FILE:8: profile a: --embedded and --base-url exclude each other\n" +
				"FILE:9: cache-size: write a text in quotes\n" +
				"FILE:9: cache-size: 5 is a number of bytes; write for example 10GiB\n" +
				"FILE:10: profile a: --client-cert and --client-key go together: give both or none\n",
		},
		{
			"options that exclude each other", "[profile.a]\nbase-url = \"https://archive.example\"\nembedded = true\n",
			"FILE:3: profile a: --embedded and --base-url exclude each other\n",
		},
		{
			"a key in two ways", "[profile.a]\nbase-url = \"https://archive.example\"\napi-key = \"k-geheim\"\napi-key-file = \"/key\"\n",
			"FILE:4: api-key-file: open /key: no such file or directory\n" +
				"FILE:4: profile a: --api-key and --api-key-file say the same: give one of them\n",
		},
		{
			"addresses that no client takes", "base-url = \"archive.example\"\n[profile.a]\nbase-url = \"ftp://archive.example\"\n[profile.b]\nbase-url = \"http://archive.example:99999\"\n",
			"FILE:1: base-url: add http:// or https:// in front\n" +
				"FILE:3: base-url: must begin with http:// or https://\n" +
				"FILE:5: base-url: a port is a number from 1 to 65535\n",
		},
		{
			"a proxy that is none", "[profile.a]\nbase-url = \"https://archive.example\"\nproxy = \"proxy:99999\"\n",
			"FILE:3: proxy: no address of the form http://HOST:PORT\n",
		},
		{
			"a certificate without its key", "base-url = \"https://archive.example\"\n[profile.a]\nclient-cert = \"/cert\"\n",
			"FILE:3: profile a: --client-cert and --client-key go together: give both or none\n",
		},
		{
			"certificates that are missing", "[profile.a]\nbase-url = \"https://archive.example\"\nclient-cert = \"/cert\"\nclient-key = \"/key\"\n" +
				"[profile.b]\nbase-url = \"https://archive.example\"\nca-file = \"/ca\"\n",
			"FILE:3: client-cert: open /cert: no such file or directory\nFILE:7: ca-file: open /ca: no such file or directory\n",
		},
		{
			"two kinds of credentials", "[profile.a]\nbase-url = \"https://archive.example\"\nuser = \"erika\"\ncloud-id = \"c\"\n",
			"FILE:4: cloud-id: a Cloud-ID and a user with password exclude each other\n",
		},
		{"users", "[profile.a]\nbase-url = \"https://archive.example\"\nmap-users = \"PEOPLE\"\n", "FILE: right, with 1 profile\n"},
		{"users of all profiles", "map-users = \"PEOPLE\"\n[profile.a]\nbase-url = \"https://archive.example\"\n", "FILE: right, with 1 profile\n"},
		{
			"users of the embedded service", "[profile.a]\nmap-users = \"PEOPLE\"\n",
			"FILE:2: profile a: --map-users needs --base-url, as the embedded service has no users; archivefs serve is a service that has\n",
		},
		{
			"users of no profile", "map-users = \"PEOPLE\"\n",
			"FILE:1: --map-users needs --base-url, as the embedded service has no users; archivefs serve is a service that has\n",
		},
		{
			"a file of users that is missing", "map-users = \"/people\"\n[profile.a]\nbase-url = \"https://archive.example\"\n",
			"FILE:1: map-users: /people: no such file or directory\n",
		},
		{"metrics at no address", "metrics = \"here\"\n", "FILE:1: metrics: \"here\" is no address; write for example 127.0.0.1:9464, or unix:/run/user/1000/archivefs.sock\n"},
		{"a mount point of no profile", "mountpoint = \"/mnt\"\n", "FILE:1: mountpoint: only a profile has one; write it into a section [profile.NAME]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := isolate(t)
			people := filepath.Join(home, "people.toml")
			if err := os.WriteFile(people, []byte("[0]\nmount = true\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			path := configure(t, home, strings.ReplaceAll(tt.text, "PEOPLE", people))
			t.Setenv("ARCHIVEFS_TTL", "-1s") // it is about the file alone
			for _, args := range [][]string{{"config", "check"}, {"config", "check", path}} {
				status, stdout, stderr := call(t, args...)
				want := strings.ReplaceAll(tt.want, "FILE", path)
				if right := strings.Contains(want, ": right"); stdout != want || right != (status == 0) || right != (stderr == "") {
					t.Errorf("exit status %d, output %q, error %q; want %q", status, stdout, stderr, want)
				}
			}
		})
	}
}

func TestConfigCheckWithoutAFile(t *testing.T) {
	home := isolate(t)
	status, stdout, _ := call(t, "config", "check")
	want := "there is no configuration: neither " + home + "/.config/archivefs/config.toml nor /etc/archivefs/config.toml\n"
	if status != 0 || stdout != want {
		t.Errorf("exit status %d, output %q, want %q", status, stdout, want)
	}
	if status, _, stderr := call(t, "config", "check", home); status != 2 || !strings.Contains(stderr, "is a directory") {
		t.Errorf("a directory: exit status %d, error %q", status, stderr)
	}
}

// The file that mount reads in place of the usual ones is also the one that is checked, unless the command
// line names another.
func TestConfigCheckOfAnotherFile(t *testing.T) {
	home := isolate(t)
	configure(t, home, "tttl = 5\n")
	var files []string
	for _, name := range []string{"one.toml", "other.toml"} {
		files = append(files, filepath.Join(home, name))
		if err := os.WriteFile(filepath.Join(home, name), []byte("ttl = \"1m\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string, args ...string) {
		t.Helper()
		if status, stdout, stderr := call(t, append([]string{"config", "check"}, args...)...); status != 0 || stdout != want+": right, with 0 profiles\n" {
			t.Errorf("%q: exit status %d, output %q, error %q", args, status, stdout, stderr)
		}
	}
	check(files[1], "--config", files[1])
	t.Setenv("ARCHIVEFS_CONFIG", files[0])
	check(files[0])
	check(files[1], files[1])
	check(files[1], "--config", files[1])
	t.Setenv("ARCHIVEFS_CONFIG", filepath.Join(home, "nowhere.toml"))
	wantCall(t, 2, "nowhere.toml: no such file", "config", "check")
}

// The example that packages bring is right, with what stands in comments, too.
func TestExampleConfiguration(t *testing.T) {
	isolate(t)
	text, err := os.ReadFile("../../packaging/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "office.key")
	if err := os.WriteFile(key, []byte("k-geheim\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("/etc/archivefs/office.key"), []byte(key))
	inComment := regexp.MustCompile(`(?m)^#([a-z-]+ = |\[)`)
	if len(inComment.FindAll(text, -1)) == 0 {
		t.Error("no options stand in comments")
	}
	for _, text := range [][]byte{text, inComment.ReplaceAll(text, []byte("$1"))} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if status, stdout, stderr := call(t, "config", "check", path); status != 0 {
			t.Errorf("exit status %d: %s%s", status, stdout, stderr)
		}
	}
}
