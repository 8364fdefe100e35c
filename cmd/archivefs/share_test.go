package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestShareSamba(t *testing.T) {
	conf := filepath.Join(isolate(t), "archive.toml")
	if err := os.WriteFile(conf, []byte("[profile.office]\nbase-url = \"https://archive.example\"\n[profile.tax]\nmountpoint = \"/srv/tax\"\n[profile.people]\nmap-users = \"/etc/archivefs/people.toml\"\n"+
		"[profile.own]\ngrace = \"45s\"\numask = \"027\"\n[profile.all]\nwindows-names = false\ngrace = \"45s\"\ninbox-collision = \"replace\"\nallow-other = true\nuid = 0\ngid = 0\numask = \"027\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args        []string
		has, hasNot []string
	}{
		{[]string{"office"}, []string{"[office]", "path = /mnt/office", "force user = archive", "oplocks = no", "xattr_tdb:file = /var/lib/samba/archivefs-office.tdb"}, []string{"valid users", "preexec"}},
		{[]string{"--name=Steuer", "--allow=@tax anna", "tax"}, []string{"[Steuer]", "path = /srv/tax", "valid users = @tax anna"}, nil},
		{[]string{"--each", "office"}, []string{"path = /mnt/office-%u", "root preexec = /usr/bin/systemctl start archivefs@office-%u"}, []string{"force user"}},
		{[]string{"people"}, []string{"[people]", "path = /mnt/people", "oplocks = no"}, []string{"force user", "preexec"}},
		{[]string{"--unit", "people"}, []string{"another form.\nEnvironment=ARCHIVEFS_WINDOWS_NAMES=true\n# Scanners", "ARCHIVEFS_GRACE=10s", "smbd close-share people"}, []string{"ARCHIVEFS_UID", "ALLOW_OTHER"}},
		{[]string{"--unit", "--as=root", "own"}, []string{"Environment=ARCHIVEFS_ALLOW_OTHER=true ARCHIVEFS_UID=0 ARCHIVEFS_GID=0\n", "every day.\nEnvironment=ARCHIVEFS_INBOX_COLLISION=number\n"}, []string{"GRACE", "UMASK"}},
		{[]string{"--unit", "--as=root", "all"}, []string{"[Service]\n# Clients are"}, []string{"Environment="}},
		{[]string{"--unit", "--as=root", "office"}, []string{"ARCHIVEFS_UID=0 ARCHIVEFS_GID=0", "ARCHIVEFS_GRACE=10s", "ExecStartPost=-+/usr/bin/smbcontrol smbd close-share office", "ExecStop=\nExecStop=-/usr/bin/archivefs unmount --default-mountpoint=/mnt/%i %i\nExecStopPost=-+/usr/bin/smbcontrol smbd close-share office"}, []string{"[office]"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			status, stdout, stderr := call(t, append([]string{"share", "samba", "--config", conf}, tt.args...)...)
			if status != 0 || stderr != "" {
				t.Fatalf("exit status %d: %s", status, stderr)
			}
			for _, want := range tt.has {
				if !strings.Contains(stdout, want) {
					t.Errorf("it lacks %q:\n%s", want, stdout)
				}
			}
			for _, want := range tt.hasNot {
				if strings.Contains(stdout, want) {
					t.Errorf("it has %q:\n%s", want, stdout)
				}
			}
		})
	}
	wantCall(t, 1, "there is no user nobody-of-that-name on this machine", "share", "samba", "--config", conf, "--unit", "--as=nobody-of-that-name", "office")
	wantCall(t, 2, `there is no profile "ofice" in the configuration`, "share", "samba", "--config", conf, "ofice")
	wantCall(t, 2, "--each and --unit exclude each other", "share", "samba", "--config", conf, "--each", "--unit", "office")
	wantCall(t, 2, `--name: "a]b" has other characters`, "share", "samba", "--config", conf, "--name=a]b", "office")
	wantCall(t, 2, "samba needs one PROFILE", "share", "samba", "--config", conf)
}
