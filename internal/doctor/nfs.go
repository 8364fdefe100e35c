package doctor

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/fusectl"
)

// NFS warns of each of the archives at dirs that is exported by NFS: by the kernel (exports(5)) or by
// nfs-ganesha, whose configurations are in etc. A client keeps handles of files across a restart of the
// mount, and they are those of other documents then.
func NFS(etc string, dirs []string) (findings []Finding) {
	files := []string{filepath.Join(etc, "exports")}
	more, _ := filepath.Glob(filepath.Join(etc, "exports.d", "*.exports")) // the pattern is right
	for _, file := range append(files, more...) {
		findings = append(findings, exported(file, dirs, ofKernel)...)
	}
	return append(findings, exported(filepath.Join(etc, "ganesha", "ganesha.conf"), dirs, ofGanesha)...)
}

// exported warns of the archives at dirs that a configuration names, or a directory in them.
func exported(file string, dirs []string, pathOf func(line string) string) (findings []Finding) {
	b, err := os.ReadFile(file) //nolint:gosec // of the machine's configuration
	if err != nil {
		return nil // there is none, or it is for root
	}
	for _, dir := range dirs {
		if slices.ContainsFunc(strings.Split(string(b), "\n"), func(line string) bool {
			at := path.Clean(pathOf(strings.TrimSpace(line)))
			return at == dir || strings.HasPrefix(at, dir+"/")
		}) {
			findings = append(findings, Warn("NFS", dir+" is exported by NFS, and after a restart of the mount a client may read another document than the one it opened",
				"take it out of "+file+"; let clients mount a share of Samba, or run archivefs themselves"))
		}
	}
	return findings
}

// ofKernel returns the path of a line of exports(5), which may be in quotes.
func ofKernel(line string) string {
	if quoted, is := strings.CutPrefix(line, `"`); is {
		at, _, _ := strings.Cut(quoted, `"`)
		return at
	}
	at, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	return fusectl.Unescape(at)
}

// ofGanesha returns the path of a line of a block EXPORT, which may begin on the same line.
func ofGanesha(line string) string {
	line, _, _ = strings.Cut(line, "#")
	for parameter := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune("{};", r) }) {
		if name, value, _ := strings.Cut(parameter, "="); strings.EqualFold(strings.TrimSpace(name), "path") {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}
