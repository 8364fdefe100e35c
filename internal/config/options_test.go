package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

func TestMountOptions(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"only commas", ",,", nil},
		{"flag", "allow_other", []string{"--allow-other"}},
		{"flag as a long option", "allow-other", []string{"--allow-other"}},
		{"value", "uid=1000", []string{"--uid=1000"}},
		{"underscores only in the name", "api_key_file=/etc/my_key", []string{"--api-key-file=/etc/my_key"}},
		{"equals sign in the value", "base_url=https://h/?a=b", []string{"--base-url=https://h/?a=b"}},
		{"comma in the value", `metadata_include=a\,b,ttl=5m`, []string{"--metadata-include=a,b", "--ttl=5m"}},
		{"backslash in the value", `user=DOM\\erika`, []string{`--user=DOM\erika`}},
		{"backslash before another character", `user=DOM\erika`, []string{`--user=DOM\erika`}},
		{"backslash at the end", `user=a\`, []string{`--user=a\`}},
		{"empty value", "password=", []string{"--password="}},
		{"read-only", "ro", []string{"--read-only"}},
		{"order is kept", "uid=1,gid=2,ro", []string{"--uid=1", "--gid=2", "--read-only"}},
		{"blanks around a name", " ro , uid=1", []string{"--read-only", "--uid=1"}},
		{
			"a line of fstab", "defaults,rw,noauto,users,_netdev,nofail,noexec,nosuid,nodev,noatime,uid=1000,allow_other",
			[]string{"--noexec", "--uid=1000", "--allow-other"},
		},
		{"a user's mount with programs", "noexec,nosuid,nodev,user,exec", []string{"--noexec", "--noexec=false"}},
		{
			"for systemd, the desktop and people",
			"x-systemd.automount,x-systemd.mount-timeout=30,x-gvfs-show,x-gvfs-name=My Archive,comment=ours,ro",
			[]string{"--read-only"},
		},
		{"what FUSE mounts often carry", "default_permissions,lazytime,strictatime,allow_other", []string{"--allow-other"}},
		{
			"for the kernel", `context="system_u:object_r:x_t:s0:c1,c2",nosymfollow,rootcontext=a:b:c:s0`,
			[]string{"--context=system_u:object_r:x_t:s0:c1,c2", "--nosymfollow", "--rootcontext=a:b:c:s0"},
		},
		{
			"what mount(8) and mount.fuse3 hand over", "auto_unmount,symfollow,subtype=archivefs,max_read=131072,helper=fuse,uhelper=udisks2,iversion,mand,loud,silent,owner,group,ro",
			[]string{"--read-only"},
		},
		{"quotes around a value", `fsname="a b",ro`, []string{"--fsname=a b", "--read-only"}},
		{"an empty value in quotes", `fsname="",ro`, []string{"--fsname=", "--read-only"}},
		{"quotes inside a value", `fsname=a"b,c"d,fsname="a"b`, []string{`--fsname=a"b`, `--c"d`, `--fsname="a"b`}},
		{"a quote that is not closed", `fsname="a,ro`, []string{`--fsname="a`, "--read-only"}},
		{"a backslash in quotes", `fsname="a\,b"`, []string{`--fsname=a\,b`}},
		{"a user is ignored, a user name is not", "user,user=erika", []string{"--user=erika"}},
		{"unknown options are for the command line to refuse", "bogus,also=1", []string{"--bogus", "--also=1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := config.MountOptions(tt.text)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Fatalf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestMountOptionsWithoutAName(t *testing.T) {
	_, err := config.MountOptions("password=geheim,=auch")
	var usage *config.UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("got error %v, want a usage error", err)
	}
	for _, secret := range []string{"geheim", "auch"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error %q shows a value, which may be a secret", err)
		}
	}
}

func TestMountOptionsThatCannotBeChanged(t *testing.T) {
	if _, err := config.MountOptions("remount,ro"); err == nil || !strings.Contains(err.Error(), "unmount it, and mount it again") {
		t.Errorf("got error %v, want a sentence about remount", err)
	}
}
