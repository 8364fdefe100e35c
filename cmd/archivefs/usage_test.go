package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
)

// isolate gives the test a home of its own, no keyring and no options in the environment, and
// returns the home.
func isolate(t *testing.T) string {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "ARCHIVEFS_") {
			t.Setenv(name, "") // so that it is put back
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "CREDENTIALS_DIRECTORY"} {
		t.Setenv(name, "")
	}
	return home
}

// call carries out a command line, given without the program's name.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), append([]string{"archivefs"}, args...), &out, &errs)
	return status, out.String(), errs.String()
}

// wantUntouched fails the test when something was made below dir.
func wantUntouched(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s was made", filepath.Join(dir, e.Name()))
	}
}

const service = "--base-url=https://archive.example"

func TestMountWrongUsage(t *testing.T) {
	key := "--api-key=k-geheim"
	tests := []struct {
		name string
		args []string
		says string // what the sentence on standard error names
	}{
		{"no operand", []string{}, "mount needs the directory to mount at, as in archivefs mount ~/Archive, or a profile that names one; see"},
		{"three operands", []string{"A", "B", "C"}, "mount takes a PROFILE and a MOUNTPOINT at most, and was given 3 operands; see"},
		{"two operands", []string{"A", "B"}, "MOUNTPOINT"},
		{"unknown option", []string{"DIR", "--bogus"}, "bogus"},
		{"unknown option in -o", []string{"DIR", "-o", "bogus=1"}, "bogus"},
		{"-o without a value", []string{"DIR", "-o"}, "-o"},
		{"option without its value", []string{"DIR", "--ttl"}, "ttl"},
		{"a flag with a bad value", []string{"DIR", "--read-only=perhaps"}, "read-only"},

		{"Cloud-ID and user", []string{"DIR", service, key, "--cloud-id=c", "--user=erika", "--password=p-geheim"}, "--cloud-id: "},
		{"Cloud-ID and password", []string{"DIR", service, key, "--cloud-id=c", "--password=p-geheim"}, "--cloud-id: "},
		{"no key", []string{"DIR", service}, "--api-key or --api-key-file: an API key is required"},
		{"user without key", []string{"DIR", service, "--user=erika", "--password=p-geheim"}, "--api-key"},
		{"user without password", []string{"DIR", service, key, "--user=erika"}, "--password or --password-file: "},
		{"password without user", []string{"DIR", service, key, "--password=p-geheim"}, "--user: "},
		{"key twice", []string{"DIR", service, key, "--api-key-file=KEY"}, "--api-key-file"},
		{"key file that is missing", []string{"DIR", service, "--api-key-file=/nowhere/key"}, "/nowhere/key"},
		{"password file that is missing", []string{"DIR", service, key, "--user=e", "--password-file=/nowhere/pw"}, "/nowhere/pw"},
		{"line break in the key", []string{"DIR", service, "--api-key=k-geheim\nX: y"}, "--api-key"},
		{"credentials for the embedded service", []string{"DIR", key}, "--base-url"},

		{"embedded and foreign", []string{"DIR", service, key, "--embedded"}, "--embedded"},
		{"data of a foreign service", []string{"DIR", service, key, "--data=d"}, "--data"},
		{"sample of a foreign service", []string{"DIR", service, key, "--sample"}, "--sample"},
		{"address without a scheme", []string{".", "--base-url=archive.example", key}, "--base-url: add http:// or https://"},
		{"address of digits without a scheme", []string{".", "--base-url=127.0.0.1:8081", key}, "--base-url: add http:// or https://"},
		{"address of another scheme", []string{".", "--base-url=ftp://archive.example", key}, "--base-url: "},
		{"proxy that is none", []string{".", service, key, "--proxy=ftp://x"}, "--proxy: no address of the form http://HOST:PORT"},
		{"CA file that is missing", []string{".", service, key, "--ca-file=/nowhere/ca"}, "--ca-file: open /nowhere/ca"},
		{"client certificate without its key", []string{"DIR", service, key, "--client-cert=c"}, "--client-cert and --client-key"},
		{"key without its client certificate", []string{"DIR", service, key, "--client-key=c"}, "--client-cert and --client-key"},
		{"client certificate that is missing", []string{".", service, key, "--client-cert=/nowhere/c", "--client-key=/nowhere/k"}, "--client-cert: open /nowhere/c"},

		{"ttl of no duration", []string{"DIR", "--ttl=long"}, "ttl"},
		{"ttl below zero", []string{"DIR", "--ttl=-1s"}, "--ttl"},
		{"ttl in -o", []string{"DIR", "-o", "ttl=long"}, "ttl"},
		{"retry below zero", []string{"DIR", "--retry-for=-1s"}, "--retry-for"},
		{"timeout of zero", []string{"DIR", "--timeout=0s"}, "--timeout"},
		{"timeout below zero", []string{"DIR", "--timeout=-1s"}, "--timeout"},
		{"timeout without a unit", []string{"DIR", "--timeout=30"}, "timeout"},
		{"drain below zero", []string{"DIR", "--drain=-1s"}, "--drain"},
		{"no connections", []string{"DIR", "--connections=0"}, "--connections"},
		{"connections of no number", []string{"DIR", "--connections=many"}, "connections"},
		{"cache size", []string{"DIR", "--cache-size=big"}, "--cache-size"},
		{"upload limit in words", []string{"DIR", "--upload-limit=slow"}, "--upload-limit"},
		{"upload limit without a unit", []string{"DIR", "--upload-limit=500"}, "--upload-limit"},
		{"download limit below zero", []string{"DIR", "--download-limit=-1M"}, "--download-limit"},
		{"download limit in -o", []string{"DIR", "-o", "download_limit=2M/s"}, "--download-limit"},
		{"content", []string{"DIR", "--content=video"}, "--content"},
		{"content in another case", []string{"DIR", "--content=PDF"}, "--content"},
		{"writes", []string{"DIR", "--writes=maybe"}, "--writes"},
		{"grace", []string{"DIR", "--grace=-1s"}, "--grace"},
		{"inbox collision", []string{"DIR", "--inbox-collision=both"}, "--inbox-collision"},
		{"date", []string{"DIR", "--created-after=31.12.2024"}, "--created-after"},
		{"time zone", []string{"DIR", "--time-zone=Europe/Nowhere"}, "--time-zone"},
		{"umask of no octal number", []string{"DIR", "--umask=089"}, "--umask"},
		{"umask too large", []string{"DIR", "--umask=1000"}, "--umask"},
		{"umask below zero", []string{"DIR", "--umask=-1"}, "--umask"},
		{"umask in letters", []string{"DIR", "--umask=u=rwx"}, "--umask"},
		{"uid below zero", []string{"DIR", "--uid=-1"}, "--uid"},
		{"gid too large", []string{"DIR", "--gid=4294967295"}, "--gid"},
		{"log level", []string{"DIR", "--log-level=loud"}, "--log-level"},
		{"log format", []string{"DIR", "--log-format=xml"}, "--log-format"},
		{"log file", []string{"DIR", "--log-file=/nowhere/log"}, "/nowhere/log"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := isolate(t)
			t.Chdir(home)
			status, stdout, stderr := call(t, append([]string{"mount"}, tt.args...)...)
			if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "archivefs: ") || !strings.Contains(stderr, tt.says) ||
				!strings.HasSuffix(stderr, "; see archivefs mount --help\n") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit status %d, output %q, error %q; want 2 and a sentence about %s", status, stdout, stderr, tt.says)
			}
			if strings.Contains(stderr, "geheim") {
				t.Errorf("a secret shows in %q", stderr)
			}
			wantUntouched(t, home)
		})
	}
}

func TestMountWrongUsageInTheEnvironment(t *testing.T) {
	tests := map[string]string{
		"ARCHIVEFS_TTL": "long", "ARCHIVEFS_TIMEOUT": "soon", "ARCHIVEFS_UMASK": "9", "ARCHIVEFS_CONTENT": "video", "ARCHIVEFS_CONNECTIONS": "many",
		"ARCHIVEFS_READ_ONLY": "perhaps", "ARCHIVEFS_CACHE_SIZE": "big", "ARCHIVEFS_UID": "-5",
	}
	for name, value := range tests {
		t.Run(name, func(t *testing.T) {
			home := isolate(t)
			t.Setenv(name, value)
			status, stdout, stderr := call(t, "mount", filepath.Join(home, "mnt"))
			if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "archivefs: "+name+": ") || !strings.Contains(stderr, value) {
				t.Errorf("exit status %d, output %q, error %q; want 2 and a sentence about %s=%s", status, stdout, stderr, name, value)
			}
			wantUntouched(t, home)
		})
	}
}

func TestUsageErrorsSayWhatFits(t *testing.T) {
	tests := []struct {
		name, line, variable, value string
		want                        string
	}{
		{"no command", "bogus", "", "", `there is no command "bogus"; see archivefs --help`},
		{"nearly a command", "umount DIR", "", "", `there is no command "umount" (did you mean unmount?); see archivefs --help`},
		{"nearly a command in a command", "uploads lsit DIR", "", "", `there is no command uploads "lsit" (did you mean list?); see archivefs uploads --help`},
		{"help of no command", "help mout", "", "", `there is no command "mout" (did you mean mount?); see archivefs --help`},
		{"nearly an option", "mount DIR --readonly", "", "", "there is no option --readonly (did you mean --read-only?); see archivefs mount --help"},
		{"nearly an option in -o", "mount DIR -o cash_size=5", "", "", "there is no option --cash-size (did you mean --cache-size?); see archivefs mount --help"},
		{"no option at all", "mount DIR --bogus", "", "", "there is no option --bogus; see archivefs mount --help"},
		{"command in a command", "uploads list", "", "", "list needs one MOUNTPOINT, and was given 0 operands; see archivefs uploads list --help"},
		{"duration", "mount --ttl=5", "", "", `--ttl: "5" is no duration; write 5s, 5m or 5h; see archivefs mount --help`},
		{"duration in words", "mount --ttl=long", "", "", `--ttl: "long" is no duration; write for example 90s or 5m; see archivefs mount --help`},
		{"user by name", "mount --uid=bob", "", "", `--uid: "bob" is no number; id -u and id -g tell the numbers of a user; see archivefs mount --help`},
		{"size without a unit", "mount DIR --cache-size=10", "", "", "--cache-size: 10 is a number of bytes; write for example 10GiB; see archivefs mount --help"},
		{"number", "mount --connections=many", "", "", `--connections: "many" is no whole number; see archivefs mount --help`},
		{"flag", "mount --read-only=perhaps", "", "", `--read-only: "perhaps" is neither true nor false; see archivefs mount --help`},
		{"variable", "mount", "ARCHIVEFS_TTL", "5", `ARCHIVEFS_TTL: "5" is no duration; write 5s, 5m or 5h; see archivefs mount --help`},
		{"number in a variable", "mount", "ARCHIVEFS_UID", "me", `ARCHIVEFS_UID: "me" is no whole number; see archivefs mount --help`},
		{"flag in a variable", "mount", "ARCHIVEFS_READ_ONLY", "perhaps", `ARCHIVEFS_READ_ONLY: "perhaps" is neither true nor false; see archivefs mount --help`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			isolate(t)
			if tt.variable != "" {
				t.Setenv(tt.variable, tt.value)
			}
			if _, _, stderr := call(t, strings.Fields(tt.line)...); stderr != "archivefs: "+tt.want+"\n" {
				t.Errorf("got %q, want %q", stderr, tt.want)
			}
		})
	}
}

func TestMountWithoutAMountPoint(t *testing.T) {
	home := isolate(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file + "-missing", file} {
		status, stdout, stderr := call(t, "mount", dir, service, "--api-key", "k-geheim")
		if status != 1 || stdout != "" || !strings.Contains(stderr, dir) {
			t.Errorf("exit status %d, output %q, error %q; want 1 and a sentence about %s", status, stdout, stderr, dir)
		}
		wantUntouched(t, home)
	}
}

func TestOtherWrongUsage(t *testing.T) {
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"unknown command", []string{"bogus"}, "bogus"},
		{"unknown option", []string{"--bogus"}, "bogus"},
		{"unmount without an operand", []string{"unmount"}, "MOUNTPOINT"},
		{"unmount of two", []string{"unmount", "A", "B"}, "MOUNTPOINT"},
		{"unmount with an unknown option", []string{"unmount", "A", "--lazy"}, "lazy"},
		{"unmount with a negative drain", []string{"unmount", "A", "--drain=-1s"}, "--drain"},
		{"status without an operand", []string{"status", "--json"}, "MOUNTPOINT"},
		{"status with an unknown option", []string{"status", "A", "--xml"}, "xml"},
		{"uploads of an unknown kind", []string{"uploads", "bogus", "A"}, "bogus"},
		{"keep without an operand", []string{"keep"}, "PATH"},
		{"free without an operand", []string{"free"}, "PATH"},
		{"uploads list without an operand", []string{"uploads", "list"}, "MOUNTPOINT"},
		{"uploads show with two operands", []string{"uploads", "show", "A", "B"}, "MOUNTPOINT"},
		{"uploads list with an unknown option", []string{"uploads", "list", "A", "--xml"}, "xml"},
		{"serve with an operand", []string{"serve", "A"}, "operands"},
		{"serve with an unknown option", []string{"serve", "--bogus"}, "bogus"},
		{"serve with a bad size", []string{"serve", "--max-upload=big"}, "--max-upload"},
		{"serve at no address", []string{"serve", "--listen=localhost"}, "--listen"},
		{"serve with a key twice", []string{"serve", "--api-key=k-geheim", "--api-key-file=K"}, "--api-key-file"},
		{"serve with a bad log level", []string{"serve", "--log-level=loud"}, "--log-level"},
		{"serve with a user without password", []string{"serve", "--user=erika"}, "password"},
		{"serve with a password without user", []string{"serve", "--password=p-geheim"}, "user"},
		{"serve with a key file that is missing", []string{"serve", "--api-key-file=/nowhere/key"}, "/nowhere/key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := isolate(t)
			t.Chdir(home)
			status, stdout, stderr := call(t, tt.args...)
			if status != 2 || stdout != "" || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit status %d, output %q, error %q; want 2 and a sentence about %s", status, stdout, stderr, tt.says)
			}
			if strings.Contains(stderr, "geheim") {
				t.Errorf("a secret shows in %q", stderr)
			}
			wantUntouched(t, home)
		})
	}
}

func TestVersion(t *testing.T) {
	status, stdout, stderr := call(t, "--version")
	if status != 0 || stderr != "" || !strings.Contains(stdout, command.Version()) || command.Version() == "" {
		t.Errorf("exit status %d, output %q, error %q; want the version %q", status, stdout, stderr, command.Version())
	}
}
