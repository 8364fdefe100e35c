package spool

import (
	"bytes"
	"testing"
)

// BenchmarkCommit makes, writes, commits and removes an upload of 150 KB: what a close costs
// before the first byte is sent. Most of it is waiting for the disk.
func BenchmarkCommit(b *testing.B) {
	const size = 150 << 10
	s, _ := open(b, b.TempDir())
	data := bytes.Repeat([]byte("x"), size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		u := create(b, s, Record{Name: "Rechnung.pdf", Folder: 7}, "")
		must(b, u.Open())
		if _, err := u.WriteAt(data, 0); err != nil {
			b.Fatal(err)
		}
		must(b, u.Close())
		must(b, commit(u))
		must(b, u.Remove())
	}
}
