package main

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/internal/config"
)

func TestArrange(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"nothing", "archivefs", "archivefs"},
		{"a command alone", "archivefs mount", "archivefs mount --"},
		{"options first", "archivefs mount --ttl 5m DIR", "archivefs mount --ttl 5m -- DIR"},
		{"options behind the operand", "archivefs mount DIR --ttl 5m --read-only", "archivefs mount --ttl 5m --read-only -- DIR"},
		{"options around the operand", "archivefs mount --read-only DIR --ttl=5m", "archivefs mount --read-only --ttl=5m -- DIR"},
		{"a flag takes no value", "archivefs mount --read-only DIR", "archivefs mount --read-only -- DIR"},
		{"a flag with a value of its own", "archivefs mount --read-only=false DIR", "archivefs mount --read-only=false -- DIR"},
		{"one dash", "archivefs mount DIR -ttl 5m", "archivefs mount -ttl 5m -- DIR"},
		{"a value that looks like an option", "archivefs mount DIR --api-key --secret", "archivefs mount --api-key --secret -- DIR"},
		{"a negative value", "archivefs mount --uid -1 DIR", "archivefs mount --uid -1 -- DIR"},
		{"a value that is two dashes", "archivefs mount --api-key -- DIR", "archivefs mount --api-key -- -- DIR"},
		{"an unknown option", "archivefs mount DIR --bogus", "archivefs mount --bogus -- DIR"},
		{"help", "archivefs mount --help", "archivefs mount --help"},
		{"help behind operands", "archivefs mount DIR --ttl 5m -h", "archivefs mount --help"},
		{"a value that asks for help", "archivefs mount DIR --user --help", "archivefs mount --user --help -- DIR"},

		{"operands that look like options", "archivefs mount --read-only -- --DIR -o", "archivefs mount --read-only -- --DIR -o"},
		{"operands around two dashes", "archivefs mount A -- B --ttl 5m", "archivefs mount -- A B --ttl 5m"},
		{"two dashes twice", "archivefs mount -- -- DIR", "archivefs mount -- -- DIR"},
		{"a dash is an operand", "archivefs mount - --read-only", "archivefs mount --read-only -- -"},

		{"-o", "archivefs mount DIR -o ro,allow_other,uid=5", "archivefs mount --read-only --allow-other --uid=5 -- DIR"},
		{"-o before", "archivefs mount -o ttl=5m DIR", "archivefs mount --ttl=5m -- DIR"},
		{"-o without a blank", "archivefs mount -oro,gid=7 DIR", "archivefs mount --read-only --gid=7 -- DIR"},
		{"-o=", "archivefs mount -o=ro,gid=7 DIR", "archivefs mount --read-only --gid=7 -- DIR"},
		{"-o twice", "archivefs mount -o ro -o ttl=5m DIR", "archivefs mount --read-only --ttl=5m -- DIR"},
		{"--o", "archivefs mount --o ro DIR --o=ttl=5m", "archivefs mount --read-only --ttl=5m -- DIR"},
		{"-o with options of others", "archivefs mount -o rw,noauto,x-gvfs-show,_netdev DIR", "archivefs mount -- DIR"},
		{"a later option wins over -o in its place", "archivefs mount -o ttl=5m --ttl=6m DIR", "archivefs mount --ttl=5m --ttl=6m -- DIR"},

		{"a command in a command", "archivefs uploads list DIR --json", "archivefs uploads list --json -- DIR"},
		{"a command without -o", "archivefs status -o DIR", "archivefs status -o -- DIR"},
		{"help for a command", "archivefs help uploads list", "archivefs uploads list --help"},
		{"help in a command", "archivefs uploads help list", "archivefs uploads list --help"},
		{"help before a command", "archivefs --help uploads list", "archivefs uploads list --help"},
		{"help alone", "archivefs help", "archivefs --help"},
		{"help with an option", "archivefs help mount --ttl", "archivefs mount --help"},
		{"a directory called help", "archivefs status help", "archivefs status -- help"},
		{"an option before the command", "archivefs --version", "archivefs --version --"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cmdline.Arrange(newApp(io.Discard, io.Discard), strings.Fields(tt.line))
			if err != nil || !slices.Equal(got, strings.Fields(tt.want)) {
				t.Fatalf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestArrangeKeepsBlanksAndEmptyValues(t *testing.T) {
	args := []string{"archivefs", "mount", "", "--user", "", "My Archive", "-o", "", "--data", "a b"}
	want := []string{"archivefs", "mount", "--user", "", "--data", "a b", "--", "", "My Archive"}
	before := slices.Clone(args)
	got, err := cmdline.Arrange(newApp(io.Discard, io.Discard), args)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if !slices.Equal(args, before) {
		t.Errorf("the arguments were changed to %q", args)
	}
}

func TestArrangeRefuses(t *testing.T) {
	for line, names := range map[string]string{
		"archivefs mount DIR -o": "-o", "archivefs mount DIR -o ro,=5": "-o", "archivefs mount DIR -o=": "-o", "archivefs mount DIR --ttl": "--ttl",
	} {
		_, err := cmdline.Arrange(newApp(io.Discard, io.Discard), strings.Fields(line))
		var usage *config.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: got error %v, want a usage error that names %s", line, err, names)
		}
	}
}

// processArguments returns the arguments in memory that can be written to, as those of a
// process are.
func processArguments(line string) []string {
	var args []string
	for a := range strings.SplitSeq(line, " ") {
		b := []byte(a)
		args = append(args, unsafe.String(unsafe.SliceData(b), len(b)))
	}
	return args
}

func TestTakeSecrets(t *testing.T) {
	tests := []struct{ name, line, left string }{
		{"no secrets", "archivefs mount --ttl 5m --user erika DIR", "archivefs mount --ttl 5m --user erika DIR"},
		{"key", "archivefs mount --api-key geheim DIR", "archivefs mount --api-key xxxxxx DIR"},
		{"key behind an equals sign", "archivefs mount --api-key=geheim DIR", "archivefs mount --api-key=xxxxxx DIR"},
		{"password", "archivefs mount --user erika --password geheim DIR", "archivefs mount --user erika --password xxxxxx DIR"},
		{"password behind an equals sign", "archivefs mount --password=ge=heim DIR", "archivefs mount --password=xxxxxxx DIR"},
		{"one dash", "archivefs mount -password geheim -api-key=auch DIR", "archivefs mount -password xxxxxx -api-key=xxxx DIR"},
		{"behind the operand", "archivefs mount DIR --api-key geheim", "archivefs mount DIR --api-key xxxxxx"},
		{"a secret that looks like an option", "archivefs mount --api-key --geheim DIR", "archivefs mount --api-key xxxxxxxx DIR"},
		{"files are no secrets", "archivefs mount --api-key-file KEY --password-file=PW DIR", "archivefs mount --api-key-file KEY --password-file=PW DIR"},
		{"in -o", "archivefs mount DIR -o ro,password=geheim", "archivefs mount DIR -o xxxxxxxxxxxxxxxxxx"},
		{"in -o without a blank", "archivefs mount -oapi_key=geheim DIR", "archivefs mount -oapi_key=xxxxxx DIR"},
		{"further on in -o", "archivefs mount -ouid=5,api_key=geheim DIR", "archivefs mount -ouid=xxxxxxxxxxxxxxxx DIR"},
		{"in -o=", "archivefs mount -o=ro,password=geheim DIR", "archivefs mount -o=xxxxxxxxxxxxxxxxxx DIR"},
		{"in --o", "archivefs mount --o password=geheim --o=api_key=auch DIR", "archivefs mount --o xxxxxxxxxxxxxxx --o=xxxxxxxxxxxx DIR"},
		{"of serve", "archivefs serve --api-key geheim", "archivefs serve --api-key xxxxxx"},
		{"an option that lacks its value", "archivefs mount --api-key", "archivefs mount --api-key"},
		{"empty values", "archivefs mount --api-key  --password= DIR", "archivefs mount --api-key  --password= DIR"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := processArguments(tt.line)
			own := cmdline.TakeSecrets(args)
			if want := strings.Split(tt.line, " "); !slices.Equal(own, want) {
				t.Errorf("the copy is %q, want %q", own, want)
			}
			if got := strings.Join(args, " "); got != tt.left {
				t.Errorf("what others see is %q, want %q", got, tt.left)
			}
		})
	}
}

func TestTakeSecretsOfNothing(t *testing.T) {
	if got := cmdline.TakeSecrets(nil); len(got) != 0 {
		t.Fatalf("got %q", got)
	}
}
