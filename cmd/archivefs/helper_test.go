package main

import (
	"io"
	"strings"
	"testing"
)

func TestIsHelper(t *testing.T) {
	tests := []struct {
		line string
		want bool
	}{
		{"/sbin/mount.archivefs office /mnt", true},
		{"mount.fuse.archivefs office /mnt -o rw", true},
		{"/sbin/mount.archivefs", true},
		{"archivefs https://archive.example /mnt -o rw,dev,suid", true}, // as mount.fuse3 calls
		{"archivefs office /mnt -o rw", true},
		{"archivefs mount /mnt -o rw", false},
		{"archivefs help /mnt -o rw", false},
		{"archivefs --version /mnt -o rw", false},
		{"archivefs office mnt -o rw", false},
		{"archivefs sttaus /mnt", false},
		{"archivefs mount -o rw /mnt", false},
		{"archivefs", false},
	}
	for _, tt := range tests {
		if got := isHelper(newApp(io.Discard, io.Discard), strings.Fields(tt.line)); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.line, got, tt.want)
		}
	}
}

func TestHelperCommandLine(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"a profile", "office /mnt/a", "archivefs mount --daemon --fsname=office -- office /mnt/a"},
		{"an address", "https://archive.example:8081 /mnt -o rw", "archivefs mount --daemon --fsname=https://archive.example:8081 --base-url=https://archive.example:8081 -- /mnt"},
		{"the archive of the machine", "embedded /mnt -o data=/srv/archive", "archivefs mount --daemon --fsname=embedded --data=/srv/archive --embedded -- /mnt"},
		{"read-only", "office /mnt -o ro,ttl=5m", "archivefs mount --daemon --fsname=office --read-only --ttl=5m -- office /mnt"},
		{
			"a line of fstab", "office /mnt -o rw,noexec,nosuid,nodev,allow_other,uid=1000,user,_netdev,nofail,x-systemd.automount,comment=ours",
			"archivefs mount --daemon --fsname=office --noexec --allow-other --uid=1000 -- office /mnt",
		},
		{
			"options for the kernel", `office /mnt -o rw,context="system_u:object_r:x_t:s0:c1,c2",nosymfollow,uhelper=udisks2`,
			"archivefs mount --daemon --fsname=office --context=system_u:object_r:x_t:s0:c1,c2 --nosymfollow -- office /mnt",
		},
		{"options in front", "-v -o ro office /mnt", "archivefs mount --daemon --fsname=office --read-only -- office /mnt"},
		{"letters in one", "office /mnt -nvo ro -t fuse.archivefs", "archivefs mount --daemon --fsname=office --read-only -- office /mnt"},
		{"a value behind its letter", "office /mnt -oro -tfuse.archivefs", "archivefs mount --daemon --fsname=office --read-only -- office /mnt"},
		{"several -o", "office /mnt -o ro -o ttl=5m", "archivefs mount --daemon --fsname=office --read-only --ttl=5m -- office /mnt"},
		{"an unknown option is for mount to refuse", "office /mnt -o bogus", "archivefs mount --daemon --fsname=office --bogus -- office /mnt"},
		{"sloppy", "office /mnt -s -o bogus,ttl=5m,also=1,ro", "archivefs mount --daemon --fsname=office --ttl=5m --read-only -- office /mnt"},
		{"files of secrets", "office /mnt -o api_key_file=/etc/k", "archivefs mount --daemon --fsname=office --api-key-file=/etc/k -- office /mnt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call, err := readHelper(strings.Fields(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			line, err := call.commandLine()
			if got := strings.Join(line, " "); err != nil || got != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestHelperWrongUsage(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"one operand", "office", "two operands"},
		{"three operands", "office /mnt more", "two operands"},
		{"an unknown letter", "office /mnt -x", "there is no option -x"},
		{"a letter that lacks its value", "office /mnt -vo", "-o needs a value"},
		{"another namespace", "office /mnt -N 7", "nsenter"},
		{"a key", "office /mnt -o ro,api_key=geheim", "-o api_key: everybody can read"},
		{"a password", "office /mnt -opassword=geheim", "with password_file=FILE"},
		{"a key, sloppy", "office /mnt -s -o api-key=geheim", "with api_key_file=FILE"},
		{"remount", "office /mnt -o remount,ro", "unmount it, and mount it again"},
		{"an unknown option", "https://archive.example /mnt -o bogus=1", "there is no option --bogus"},
		{"a bad value", "https://archive.example /mnt -o ttl=long", "--ttl"},
		{"an unknown profile", "offic /mnt", "(did you mean office?)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := isolate(t)
			configure(t, home, "[profile.office]\nembedded = true\n")
			var stdout, stderr strings.Builder
			status := runHelper(t.Context(), append([]string{"mount.archivefs"}, strings.Fields(tt.line)...), &stdout, &stderr)
			if said := stderr.String(); status != 1 || stdout.Len() > 0 || !strings.Contains(said, tt.want) || strings.Count(said, "\n") != 1 || strings.Contains(said, "geheim") {
				t.Errorf("exit status %d, output %q, error %q; want 1 and %q", status, stdout.String(), said, tt.want)
			}
		})
	}
}
