package main

import (
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// processArguments returns the arguments in memory that can be written to, as those of a
// process are.
func processArguments(line string) []string {
	var args []string
	for _, a := range strings.Split(line, " ") {
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
			own := takeSecrets(args)
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
	if got := takeSecrets(nil); len(got) != 0 {
		t.Fatalf("got %q", got)
	}
}
