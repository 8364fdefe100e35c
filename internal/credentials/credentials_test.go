package credentials_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/archivefs/archivefs/internal/credentials"
)

func TestMain(m *testing.M) {
	keyring.MockInit() // tests touch nobody's
	os.Exit(m.Run())
}

func TestCommand(t *testing.T) {
	tests := []struct{ name, line, want, err string }{
		{"a line", "echo geheim", "geheim", ""},
		{"without its end", "printf geheim", "geheim", ""},
		{"the first of several", "printf 'geheim\\nuser: erika\\n'", "geheim", ""},
		{"in pieces", "printf ge; sleep 0.01; printf 'heim\\r\\nmore\\n'", "geheim", ""},
		{"blanks count", "echo ' ge heim '", " ge heim ", ""},
		{"from standard input", "cat", "typed", ""},
		{"more than anybody needs", "echo geheim; yes | head -c 300000", "geheim", ""},
		{"nothing", "true", "", "the first line that the command prints is empty"},
		{"an empty line", "echo; echo geheim", "", "the first line that the command prints is empty"},
		{"a failure", "echo geheim; exit 3", "", "the command failed: exit status 3"},
		{"no such command", "/nowhere/pass show 2>/dev/null", "", "the command failed: exit status 127"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := credentials.Command(t.Context(), tt.line, strings.NewReader("typed\n"), os.Stderr)
			if got != tt.want || fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
				t.Errorf("got %q, %v; want %q, %s", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestCommandThatDoesNotEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := credentials.Command(ctx, "echo geheim; exec sleep 60", nil, os.Stderr)
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "geheim") {
		t.Errorf("got error %v", err)
	}
}

func TestCommandComplains(t *testing.T) {
	var stderr strings.Builder
	if _, err := credentials.Command(t.Context(), "echo locked >&2; echo geheim", nil, &stderr); err != nil || stderr.String() != "locked\n" {
		t.Errorf("its words are %q, its error %v", stderr.String(), err)
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"api-key": 0o400, "shown": 0o444, "empty": 0o400} {
		text := "geheim\n"
		if name == "empty" {
			text = ""
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	for name, want := range map[string]string{"api-key": "geheim", "password": ""} {
		if got, err := credentials.Directory(name); got != want || err != nil {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"shown", "empty"} {
		if _, err := credentials.Directory(name); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if got, err := credentials.Directory("api-key"); got != "" || err != nil {
		t.Errorf("without a directory: %q, %v", got, err)
	}
}

var login = &credentials.Login{Service: "https://archive.example/api/v2", APIKey: "k-geheim", User: "erika", Password: "p-geheim"}

func TestLoginShowsNoSecret(t *testing.T) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{*login, login} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "geheim") {
				t.Errorf("%s shows a secret: %s", verb, text)
			}
		}
	}
}

// withKeyring is a session with an empty keyring, or one that fails.
func withKeyring(t *testing.T, failure error) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	if failure != nil {
		keyring.MockInitWithError(failure)
	} else {
		keyring.MockInit()
	}
	t.Cleanup(keyring.MockInit)
}

func withoutKeyring(t *testing.T) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
}

func wantLogin(t *testing.T, s *credentials.Store, name, wantPlace string) {
	t.Helper()
	got, place, err := s.Get(t.Context(), name)
	if err != nil || *got != *login || place != wantPlace {
		t.Errorf("got %v from %s, %v; want it from %s", got, place, err, wantPlace)
	}
}

func wantNone(t *testing.T, s *credentials.Store, name string) {
	t.Helper()
	if _, _, err := s.Get(t.Context(), name); !errors.Is(err, credentials.ErrNone) {
		t.Errorf("got error %v, want %v", err, credentials.ErrNone)
	}
}

func TestStoreInTheKeyring(t *testing.T) {
	withKeyring(t, nil)
	s := &credentials.Store{Dir: filepath.Join(t.TempDir(), "login")}
	wantNone(t, s, "office")
	place, why, err := s.Put(t.Context(), "office", login)
	if err != nil || why != nil || place != credentials.InKeyring {
		t.Fatalf("kept in %s because of %v, %v", place, why, err)
	}
	wantLogin(t, s, "office", credentials.InKeyring)
	wantNone(t, s, "other")
	if err := s.Forget(t.Context(), "office"); err != nil {
		t.Error(err)
	}
	wantNone(t, s, "office")
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory for files was made: %v", err)
	}
}

func TestStoreWithoutAKeyring(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T){
		"no bus":     withoutKeyring,
		"no service": func(t *testing.T) { withKeyring(t, errors.New("org.freedesktop.secrets was not provided")) },
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			s := &credentials.Store{Dir: filepath.Join(t.TempDir(), "login")}
			const name = "https://archive.example/api/v2"
			wantNone(t, s, name)
			place, why, err := s.Put(t.Context(), name, login)
			if err != nil || why == nil || place != filepath.Join(s.Dir, "https:%2F%2Farchive.example%2Fapi%2Fv2.json") {
				t.Fatalf("kept in %s because of %v, %v", place, why, err)
			}
			info, err := os.Stat(place)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
			wantLogin(t, s, name, place)
			if err := s.Forget(t.Context(), name); err != nil {
				t.Error(err)
			}
			wantNone(t, s, name)
			if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("its directory is left: %v", err)
			}
		})
	}
}

// Who logs in again where there is a keyring now has no file left.
func TestStoreMovesIntoTheKeyring(t *testing.T) {
	s := &credentials.Store{Dir: filepath.Join(t.TempDir(), "login")}
	withoutKeyring(t)
	place, _, err := s.Put(t.Context(), "office", login)
	if err != nil {
		t.Fatal(err)
	}
	withKeyring(t, nil)
	wantLogin(t, s, "office", place)
	if _, _, err := s.Put(t.Context(), "office", login); err != nil {
		t.Fatal(err)
	}
	wantLogin(t, s, "office", credentials.InKeyring)
	if _, err := os.Stat(place); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

func TestStoreRefuses(t *testing.T) {
	withoutKeyring(t)
	text, err := json.Marshal(login)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"a file that others can read": {string(text), 0o644, "others can read"},
		"another file":                {"k-geheim", 0o600, "holds is no login of this program"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &credentials.Store{Dir: t.TempDir()}
			if err := os.WriteFile(filepath.Join(s.Dir, "office.json"), []byte(file.text), file.mode); err != nil {
				t.Fatal(err)
			}
			_, _, err := s.Get(t.Context(), "office")
			if err == nil || !strings.Contains(err.Error(), file.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("got error %v, want one with %q", err, file.want)
			}
		})
	}
}

func TestStoreSaysWhyTheKeyringIsSilent(t *testing.T) {
	withKeyring(t, errors.New("it is locked"))
	s := &credentials.Store{Dir: t.TempDir()}
	_, _, err := s.Get(t.Context(), "office")
	if !errors.Is(err, credentials.ErrNone) || !strings.Contains(err.Error(), "the keyring cannot be asked: it is locked") {
		t.Errorf("got error %v", err)
	}
}
