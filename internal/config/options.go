package config

import "strings"

// ignored are options of mount(8), fstab(5) and fuse(8) that are for other programs, or have no
// effect here: the kernel checks permissions wherever other users have access, and a mount never
// has devices and setuid programs. All other names are those of long options.
var ignored = map[string]bool{
	"defaults": true, "rw": true, "auto": true, "noauto": true, "user": true, "nouser": true, "users": true,
	"owner": true, "group": true, "_netdev": true, "nofail": true, "suid": true,
	"nosuid": true, "dev": true, "nodev": true, "atime": true, "noatime": true, "relatime": true,
	"norelatime": true, "strictatime": true, "nostrictatime": true, "lazytime": true, "nolazytime": true,
	"diratime": true, "nodiratime": true, "iversion": true, "noiversion": true, "mand": true, "nomand": true,
	"silent": true, "loud": true, "sync": true, "async": true, "dirsync": true, "default_permissions": true,
}

// spelled are options of mount(8) that have another name as a long option.
var spelled = map[string]string{"ro": "--read-only", "exec": "--noexec=false"}

// MountOptions turns the value of -o ("a,b=c", a comma inside a value written "\,") into
// long options. Names may be spelled with "_" for "-", as mount programs do.
func MountOptions(s string) ([]string, error) {
	var flags []string
	for _, o := range splitOptions(s) {
		o = strings.TrimSpace(o)
		name, value, hasValue := strings.Cut(o, "=")
		name = strings.ReplaceAll(name, "_", "-")
		switch {
		case o == "", ignored[o], strings.HasPrefix(strings.ToLower(name), "x-"), name == "comment":
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

// splitOptions splits at commas that no backslash escapes.
func splitOptions(s string) []string {
	var all []string
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == ',' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		case s[i] == ',':
			all = append(all, b.String())
			b.Reset()
		default:
			b.WriteByte(s[i])
		}
	}
	return append(all, b.String())
}
