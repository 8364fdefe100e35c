package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/credentials"
)

const service = "https://archive.example/api/v2"

var own = apiclient.Credentials{APIKey: "k-own", User: "scan", Password: "p-own"}

// peopleFile is a file of --map-users. DIR in the text is its directory, which has a password and a key.
func peopleFile(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "people.toml")
	for name, text := range map[string]string{
		path: strings.ReplaceAll(text, "DIR", dir), filepath.Join(dir, "pw"): "p-geheim\n", filepath.Join(dir, "key"): "k-geheim\n", filepath.Join(dir, "empty"): "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestPeople(t *testing.T) {
	keyring.MockInit()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	t.Setenv("HOME", t.TempDir())
	store, err := OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Put(t.Context(), "anna", &credentials.Login{Service: service, APIKey: "k-anna", User: "anna", Password: "p-anna"}); err != nil {
		t.Fatal(err)
	}
	path := peopleFile(t, `
		[daemon]
		user = "erika"
		password-file = "DIR/pw"
		[1002]
		user = "max"
		password-command = "echo p-max"
		api-key-file = "DIR/key"
		[1003]
		cloud-id = "c"
		[1004]
		login = "anna"
		[1005]
		mount = true
		[1006]
		user = "scan"
		password-command = "echo p-own"
		[1007]
		api-key-command = "echo k-7"
		["*"]
		api-key-file = "DIR/key"
	`)
	people, err := ReadPeople(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := people.Resolve(t.Context(), own, "https://archive.example")
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint32]apiclient.Person{
		1:    {Name: "daemon", Credentials: apiclient.Credentials{APIKey: "k-own", User: "erika", Password: "p-geheim"}},
		1002: {Name: "1002", Credentials: apiclient.Credentials{APIKey: "k-geheim", User: "max", Password: "p-max"}},
		1003: {Name: "1003", Credentials: apiclient.Credentials{APIKey: "k-own", CloudID: "c"}},
		1004: {Name: "1004", Credentials: apiclient.Credentials{APIKey: "k-anna", User: "anna", Password: "p-anna"}},
		1005: {Name: "1005", Own: true},
		1006: {Name: "1006", Own: true, Credentials: own},
		1007: {Name: "1007", Credentials: apiclient.Credentials{APIKey: "k-7"}},
	}
	if uid := uint32(os.Geteuid()); want[uid].Name == "" {
		want[uid] = apiclient.Person{Name: fmt.Sprint(uid), Own: true}
	}
	for uid, who := range want {
		if got.Of[uid] != who {
			t.Errorf("%d: got %+v (%q), want %+v", uid, got.Of[uid], got.Of[uid].Credentials.APIKey, who)
		}
	}
	if len(got.Of) != len(want) || got.Others == nil || got.Others.Credentials != (apiclient.Credentials{APIKey: "k-geheim"}) {
		t.Errorf("%d users, others %+v", len(got.Of), got.Others)
	}
	if text := people.InWords(); text != path+" names 7 users of this machine, and what is for all others" {
		t.Error(text)
	}
	if again, err := ReadPeople(t.Context(), path); err != nil || len(again.of) != 7 {
		t.Error(again, err)
	}
}

func TestPeopleSayWhatIsWrongAndWhere(t *testing.T) {
	keyring.MockInit()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	t.Setenv("HOME", t.TempDir())
	tests := []struct{ text, want string }{
		{"", "people.toml: it names nobody"},
		{"[nobody-of-that-name]\nmount = true", `people.toml:1: there is no user "nobody-of-that-name" on this machine`},
		{"[4294967295]\nmount = true", "people.toml:1: 4294967295 is no number of a user"},
		{"[daemon]\nmount = true\n[1]\nmount = true", "people.toml:3: the user 1 is [daemon] in line 1 already"},
		{"[1]", "people.toml:1: [1] says nothing: give user, login or api-key-file, or mount = true"},
		{"[1]\nmount = false", "people.toml:1: [1] says nothing"},
		{"[1]\nmount = true\nuser = 'x'", "people.toml:3: user: [1] has the credentials of the mount, and so no others"},
		{"[1]\nuser = 'x'", "people.toml:2: user: the password is missing"},
		{"[1]\npassword-file = '/pw'", "people.toml:1: [1]: the password needs a user"},
		{"[1]\nuser = 'x'\npassword-file = '/pw'\npassword-command = 'pw'", "people.toml:4: password-command: password-file says the same"},
		{"[1]\nuser = 'x'\npassword-file = '/pw'\ncloud-id = 'c'", "people.toml:4: cloud-id: a Cloud-ID and a user exclude each other"},
		{"[1]\nlogin = 'a'\nuser = 'x'", "people.toml:2: login: [1] has the credentials that were kept by archivefs login"},
		{"[1]\nuser = 'x'\npassword = 'p-geheim'", `people.toml:3: there is no key "password"`},
		{"[1]\nuser = 'x'\npassword-file = 'DIR/nowhere'", "people.toml:3: password-file: open "},
		{"[1]\nuser = 'x'\npassword-file = 'DIR/empty'", "empty is empty"},
		{"[1]\nuser = 'x'\npassword-command = 'exit 3'", "people.toml:3: password-command: the command failed: exit status 3"},
		{"[1]\nuser = 'x:y'\npassword-file = 'DIR/pw'", "people.toml:1: [1]: user: a user name cannot hold a colon"},
		{"[1]\nlogin = 'nobody'", "people.toml:2: login: there is no login of the name nobody; archivefs login asks for it"},
		{"['*']\n[1]\nuser = 'x'\npassword-file = 'DIR/nowhere'", "people.toml:1: [*] says nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			people, err := ReadPeople(t.Context(), peopleFile(t, tt.text))
			if err == nil {
				_, err = people.Resolve(t.Context(), own, service)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestALoginIsForItsService(t *testing.T) {
	keyring.MockInit()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	t.Setenv("HOME", t.TempDir())
	store, err := OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Put(t.Context(), "anna", &credentials.Login{Service: service, APIKey: "k-anna"}); err != nil {
		t.Fatal(err)
	}
	people, err := ReadPeople(t.Context(), peopleFile(t, "[1]\nlogin = 'anna'"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := people.Resolve(t.Context(), own, "https://other.example"); err == nil || !strings.Contains(err.Error(), "is for "+service+", and not for https://other.example/api/v2") {
		t.Error(err)
	}
}
