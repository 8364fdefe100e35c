package doctor

import (
	"os"
	"regexp"
)

// Index checks the configuration of updatedb (updatedb.conf(5)), which lists each day, as root, all that
// root can see: an archive only if visible is set.
func Index(conf string, visible bool) Finding {
	const check = "file index"
	b, err := os.ReadFile(conf) //nolint:gosec // of the machine's configuration
	switch {
	case err != nil:
		return Fine(check, "there is no updatedb")
	case pruned.Match(b):
		return Fine(check, "updatedb leaves archives out")
	case !visible:
		return Fine(check, "updatedb cannot look into your mounts")
	}
	return Warn(check, "updatedb lists every document of a mount each day, without downloading any", "add "+Kind+" to PRUNEFS in "+conf)
}

// pruned is a configuration that names our mounts in PRUNEFS.
var pruned = regexp.MustCompile(`(?m)^\s*PRUNEFS\s*=(.*[\s"])?` + regexp.QuoteMeta(Kind) + `(["\s]|$)`)
