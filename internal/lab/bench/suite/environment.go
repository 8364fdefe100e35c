//go:build linux

package suite

import (
	"net"
	"os"
	"path/filepath"
)

// env is the environment of a command.
func (b *Bench) env(further ...string) []string {
	own, _ := os.Executable() // empty if it is not known; then the loopback cannot be mounted
	return append(further, "ARCHIVEFS="+b.Program, "LOOPBACK="+filepath.Join(filepath.Dir(own), "loopback"), "KEY="+key, "TREE="+b.corpus.Tree(), "SERVERS="+filepath.Join(b.dir, "servers"), "LC_ALL=C.UTF-8")
}

// places are where commands find the corpus in a mount, and its server.
func (b *Bench) places(mnt, address string) []string {
	c := b.corpus
	host, port, _ := net.SplitHostPort(address) // empty where there is no server
	in := func(name string) string { return filepath.Join(mnt, name) }
	return []string{
		"MNT=" + mnt, "ROOT=" + mnt, "S=" + in("S"), "M=" + in("M"), "W=" + in(c.Wide), "M500=" + in(c.Part), "IN=" + in("IN"), "BIG=" + in(c.Big),
		"LIST=" + c.SmallList(), "SAMPLE=" + c.SampleList(), "HOST=" + host, "PORT=" + port, "URL=http://" + address,
	}
}
