//go:build linux

package suite

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// about notes where and with what is measured.
func (b *Bench) about(ctx context.Context) error {
	note := func(name, text string) { b.results.Entry(result.About, name).Note = text }
	note("date", time.Now().UTC().Format(time.DateOnly))
	note("corpus", b.Shape.Name+", seed "+strconv.FormatUint(b.Seed, 10))
	note("repeats", strconv.Itoa(b.Repeats))
	note("delay", b.Delay.String())
	c := b.corpus
	note("documents in each archive", strconv.Itoa(c.W.Documents+c.M.Documents+c.S.Documents))
	note(result.BigBytes, strconv.FormatInt(b.Shape.BigSize, 10))
	for name, command := range map[string]string{
		"kernel":     "uname -sr",
		"processors": `echo "$(nproc), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"`,
		"memory":     `awk '/MemTotal/ {printf "%.0f GB", $2 / 1e6}' /proc/meminfo`,
		"disk":       `findmnt -n -o FSTYPE -T "$TREE"`,
		"archivefs":  `"$ARCHIVEFS" --version`,
		"commit":     "git describe --always --dirty --exclude '*'",
		"go":         "go env GOVERSION",
		"rclone":     "rclone version | head -1",
		"nginx":      "nginx -v 2>&1",
		"davfs2":     "mount.davfs -V | head -1",
		"sshfs":      "sshfs -V 2>&1 | head -1",
		"juicefs":    "juicefs version",
		"coreutils":  "ls --version | head -1",
	} {
		b.results.Forget(result.About, name)
		r, err := machine.Run(ctx, command, b.env(), 10*time.Second)
		if err == nil && r.Output != "" { // what is not there is not named
			note(name, strings.TrimSpace(r.Output))
		}
	}
	b.save()
	return ctx.Err()
}
