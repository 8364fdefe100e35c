package fs

import (
	"strings"
	"time"
)

// kernelTrust bounds the timeouts of names and attributes that can change: macFUSE has no way to invalidate them.
const kernelTrust = time.Second

// platformOptions returns options of mount_macfuse(8): the name that Finder shows, and no ._* and
// .DS_Store files, which are never archived.
func platformOptions(o *Options) []string {
	options := []string{"noappledouble"}
	if name := strings.Map(printableInOption, o.VolumeName); name != "" {
		options = append(options, "volname="+name)
	}
	return options
}

// printableInOption replaces characters that would end an option or a name, and drops control characters.
func printableInOption(r rune) rune {
	switch {
	case r == ',' || r == '\\' || r == '/' || r == ':':
		return '-'
	case r < ' ':
		return -1
	}
	return r
}
