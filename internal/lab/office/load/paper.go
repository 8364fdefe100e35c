//go:build linux

package load

import (
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// Where people work: Files has folders with documents, and In a folder of each person. Own has the folders
// of each person that nobody else lists, and Walked those that somebody walks through.
const (
	files  = host.Mandator + "/Files"
	in     = host.Mandator + "/In"
	own    = host.Mandator + "/Own"
	walked = host.Mandator + "/Walked"
)

// Sizes of the archive.
const (
	folders   = 300
	inFolder  = 10 // documents
	ownEach   = 100
	walkedAll = 6000
)

// paper is a text of so many bytes that begins with a title.
func paper(title string, size int) string {
	rnd := rand.New(rand.NewPCG(uint64(len(title)), uint64(size))) //nolint:gosec // noise
	b := make([]byte, 0, size+80)
	b = append(b, title+"\n"...)
	for len(b) < size {
		b = fmt.Appendf(b, "%016x %016x %s\n", rnd.Uint64(), rnd.Uint64(), title)
	}
	return string(b[:max(size, len(title)+1)])
}

// file is the path of a document that people read, with its size: of a letter, or of a scan.
func file(folder, n int) (path string, size int) {
	rnd := rand.New(rand.NewPCG(uint64(folder), uint64(n))) //nolint:gosec // sizes
	size = 2<<10 + rnd.IntN(60<<10)
	if n == 0 {
		size = 200<<10 + rnd.IntN(800<<10)
	}
	return fmt.Sprintf("%s/%02d/%02d/Paper %d.txt", files, folder/20, folder%20, n), size
}

// Documents are those of the archive at its beginning, by path.
func Documents(people int) map[string]string {
	all := maps.Clone(host.Old())
	letter := func(path string) { all[path] = path + "\n" }
	for f := range folders {
		for n := range inFolder {
			path, size := file(f, n)
			all[path] = paper(path, size)
		}
	}
	for i := range people {
		letter(in + "/" + host.Person(i) + "/A letter.txt")
		for n := range ownEach {
			letter(fmt.Sprintf("%s/%s/%02d/A letter.txt", own, host.Person(i), n))
		}
	}
	for n := range walkedAll {
		letter(walkedFolder(n) + "/A letter.txt")
	}
	return all
}

func walkedFolder(n int) string { return fmt.Sprintf("%s/%03d/%02d", walked, n/20, n%20) }
