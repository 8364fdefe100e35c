package config

import (
	"regexp"
	"slices"
	"strings"
)

// ignored are options of mount(8), fstab(5) and fuse(8) that are for other programs, or have no
// effect here: the kernel checks permissions wherever other users have access, and a mount never
// has devices and setuid programs. Those with "=" have a value; the subtype is ours, and so is what is
// read at once. All other names are those of long options.
var ignored = strings.Fields(`auto noauto user nouser users owner group nofail _netdev comment= helper= uhelper= subtype= max-read=
	defaults rw suid nosuid dev nodev sync async dirsync default_permissions auto_unmount symfollow
	atime noatime relatime norelatime strictatime nostrictatime lazytime nolazytime diratime nodiratime
	iversion noiversion mand nomand silent loud`)

// option is one of -o. A backslash escapes a comma, and so do quotes around the value.
var option = regexp.MustCompile(`(?:="[^"]*"|\\[,\\]|[^,])+`)

// spelled are options of mount(8) that have another name as a long option.
var spelled = map[string]string{"ro": "--read-only", "exec": "--noexec=false"}

// MountOptions turns the value of -o ("a,b=c", a comma inside a value written "\,", or the value in double
// quotes) into long options. Names may be spelled with "_" for "-", as mount programs do.
func MountOptions(s string) ([]string, error) {
	var flags []string
	for _, o := range option.FindAllString(s, -1) {
		o = strings.TrimSpace(o)
		name, value, hasValue := strings.Cut(o, "=")
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		} else {
			value = strings.NewReplacer(`\,`, `,`, `\\`, `\`).Replace(value)
		}
		name = strings.ReplaceAll(name, "_", "-")
		switch {
		case o == "", slices.Contains(ignored, o), slices.Contains(ignored, name+"="), strings.HasPrefix(strings.ToLower(name), "x-"):
		case name == "":
			return nil, Usagef("-o: an option has no name before its \"=\"") // its text may hold secrets
		case o == "remount":
			return nil, Usagef("-o remount: a mount keeps the options that it has; unmount it, and mount it again")
		case spelled[o] != "":
			flags = append(flags, spelled[o])
		case hasValue:
			flags = append(flags, "--"+name+"="+value)
		default:
			flags = append(flags, "--"+name)
		}
	}
	return flags, nil
}
