package fs

import (
	"strings"
	"time"
)

// kernelTrust bounds how long the kernel may trust names and attributes of what can change:
// macFUSE cannot be told of a change.
const kernelTrust = time.Second

// platformOptions are options of mount_macfuse(8): the name that Finder shows, and no files
// ._* and .DS_Store, which the archive would never get.
func platformOptions(o *Options) []string {
	options := []string{"noappledouble"}
	if name := strings.Map(printableInOption, o.VolumeName); name != "" {
		options = append(options, "volname="+name)
	}
	return options
}

// printableInOption takes away what ends an option or a name.
func printableInOption(r rune) rune {
	switch {
	case r == ',' || r == '\\' || r == '/' || r == ':':
		return '-'
	case r < ' ':
		return -1
	}
	return r
}
