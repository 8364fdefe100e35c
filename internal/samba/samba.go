// Package samba knows how Samba (smb.conf(5)) exports a mounted archive to Windows, Macs and scanners:
// the section that makes a share of it, and what an existing share lacks.
package samba

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// setting is a parameter of a share, with the reason for it, in lines. Samba's default is another value.
type setting struct{ name, value, why string }

// settings are what every share of an archive needs.
var settings = []setting{
	{"oplocks", "no", "A client with an oplock or a lease closes a file long after its program has, and does not see\nwhat others change. Closing a file archives it."},
	{"level2 oplocks", "no", ""},
	{"posix locking", "no", "Locks of clients are for other clients; a mounted archive has none to offer."},
	{"ea support", "no", "Attributes of documents belong to the archive, and it takes no others."},
	{"store dos attributes", "no", ""},
	{"map archive", "no", ""},
	{"nt acl support", "no", "The archive decides who may do what, so there is nothing to be set in the properties of a\nfile."},
	{"csc policy", "disable", "A copy that Windows keeps for offline use would be written back later, under a name that may\nbe archived by then."},
	{"vfs objects", "catia fruit streams_xattr xattr_tdb fileid", "Names that Windows does not allow are shown with other characters, which are those of macOS.\nWhat Macs and browsers store beside a file (colours, where it was downloaded) stays in a file\nof this machine."},
}

// ofModules are the parameters of the modules.
var ofModules = []setting{
	{"catia:mappings", "0x22:0xf020,0x2a:0xf021,0x3a:0xf022,0x3c:0xf023,0x3e:0xf024,0x3f:0xf025,0x5c:0xf026,0x7c:0xf027", ""},
	{"smbd max xattr size", "16777216", "Icons and resource forks of Macs are larger than the attributes of most file systems."},
	{"fileid:algorithm", "fsname", "The archive has the same number after each mount."},
	{"fileid:fstype allow", "fuse.archivefs", "Samba would wait for each mount of the machine, and one that does not answer would stop the\nshare."},
	{"fruit:metadata", "stream", ""},
	{"fruit:resource", "stream", ""},
	{"fruit:nfs_aces", "no", ""},
	{"readdir_attr:aapl_rsize", "no", "Listing a large folder on a Mac asks for nothing else."},
	{"readdir_attr:aapl_finder_info", "no", ""},
	{"readdir_attr:aapl_max_access", "no", ""},
}

// Share is a share of an archive.
type Share struct {
	Name    string // as clients see it
	Path    string // where the archive is mounted
	User    string // to whom the files belong; empty for the user of the client
	Allowed string // who may use it, as valid users has it; empty for every user of Samba
	Before  string // a command that root runs before a client connects; empty for none
	Streams string // the file in which is kept what belongs to a file, and not to the document
}

// Section returns the section of smb.conf that makes the share.
func (s *Share) Section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]\n", s.Name)
	own := []setting{
		{"comment", "Document archive", ""},
		{"path", s.Path, ""},
		{"read only", "no", ""},
		{"force user", s.User, ""},
		{"valid users", s.Allowed, ""},
		{"root preexec", s.Before, ""},
		{"veto files", "/.archivefs/", "Decisions about uploads are for this machine. Saved searches are in the directory searches."},
	}
	for _, p := range slices.Concat(own, settings, ofModules, []setting{{"xattr_tdb:file", s.Streams, ""}}) {
		if p.value == "" {
			continue
		}
		if p.why != "" {
			fmt.Fprintf(&b, "   # %s\n", strings.ReplaceAll(p.why, "\n", "\n   # "))
		}
		fmt.Fprintf(&b, "   %s = %s\n", p.name, p.value)
	}
	return b.String()
}

// Found is a share of an archive in the configuration of a machine.
type Found struct {
	Name, Path string
	// Lacks are the settings that it should have, each as "name = value".
	Lacks []string
}

// Shares returns the shares whose path is one of dirs or below it. conf is what testparm(1) -s prints:
// the configuration with all its files, canonical names, and no defaults.
func Shares(conf string, dirs []string) (found []Found) {
	for name, parameters := range sections(conf) {
		at := path.Clean(parameters["path"])
		if slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(at+"/", dir+"/") }) {
			found = append(found, Found{name, at, lacks(parameters)})
		}
	}
	return found
}

// lacks returns the settings that a share lacks. Modules may come in another order, and beside others.
func lacks(parameters map[string]string) (lacks []string) {
	for _, s := range settings {
		has := strings.EqualFold(parameters[s.name], s.value)
		if s.name == "vfs objects" {
			given := strings.Fields(parameters[s.name])
			has = !slices.ContainsFunc(strings.Fields(s.value), func(module string) bool { return !slices.Contains(given, module) })
		}
		if !has {
			lacks = append(lacks, s.name+" = "+s.value)
		}
	}
	return lacks
}

// sections parses a configuration in its canonical form.
func sections(conf string) map[string]map[string]string {
	all := map[string]map[string]string{}
	var section map[string]string
	for line := range strings.Lines(conf) {
		line = strings.TrimSpace(line)
		if name, is := strings.CutPrefix(line, "["); is {
			section = map[string]string{}
			all[strings.TrimSuffix(name, "]")] = section
			continue
		}
		if name, value, is := strings.Cut(line, "="); is && section != nil && !strings.HasPrefix(line, "#") {
			section[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return all
}
