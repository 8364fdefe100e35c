//go:build linux

package suite

import (
	"strconv"

	"github.com/archivefs/archivefs/internal/lab/bench/corpus"
)

// workload is one command that is measured. It finds in its environment ROOT, S, M, W,
// M500, IN (directories of the mount), BIG (a document), LIST and SAMPLE (files of paths
// relative to S, each ended by NUL).
type workload struct {
	id      string
	command string
	want    func(*corpus.Corpus) int // what it prints; nil: anything
}

// group is what is measured one after the other in the same mount.
type group struct {
	name  string
	steps []workload
	slow  bool   // over a slow network
	same  string // a command that prints a digest of what was read, the same for all
	copy  bool   // copies in instead
	ends  bool   // memory and processor time count after its first step
}

// The group and the workloads whose names others need.
const (
	groupCopy    = "copy"
	mountAndList = "mount_ls"
	copySmall    = "cpin500"
	copyBig      = "cpin512"
	returned     = "_ret" // is appended: when cp returned
	memory       = "rss_MB"
	processor    = "cpu_find_s"
)

// Commands. One cat reads all documents, or 8 at a time a few each.
const (
	longList   = `ls -l "$W" | wc -l`
	find       = `find "$M" -type f | wc -l`
	findAll    = `find "$M" -type f -ls | wc -l`
	catBig     = `cat "$BIG" > /dev/null`
	catSmall   = `cd "$S" && xargs -0 -a "$LIST" cat > /dev/null`
	catSmall8  = `cd "$S" && xargs -0 -a "$LIST" -n 10 -P 8 cat > /dev/null`
	catSample8 = `cd "$S" && xargs -0 -a "$SAMPLE" -n 5 -P 8 cat > /dev/null`
)

func groups() []group {
	wide := func(c *corpus.Corpus) int { return c.W.Documents + 1 } // and the line "total"
	many := func(c *corpus.Corpus) int { return c.M.Documents }
	part := func(c *corpus.Corpus) int { return c.M500.Documents }
	return []group{
		{name: "list", steps: []workload{
			{"ls_root_warm", `ls "$ROOT" > /dev/null`, nil}, {"lsl_W_cold", longList, wide}, {"lsl_W_warm", longList, wide},
		}},
		{name: "find", steps: []workload{{"find_M_cold", find, many}, {"find_M_warm", find, many}}, ends: true},
		{name: "findls", steps: []workload{{"findls_M_cold", findAll, many}, {"findls_M_warm", findAll, many}}},
		{name: "big", steps: []workload{{"cat512_cold", catBig, nil}, {"cat512_warm", catBig, nil}}, same: `sha256sum < "$BIG"`},
		{
			name: "small", steps: []workload{{"cat2000_cold", catSmall, nil}, {"cat2000_warm", catSmall, nil}},
			same: `cd "$S" && xargs -0 -a "$LIST" cat | sha256sum`,
		},
		{
			name: "small8", steps: []workload{{"cat2000p8_cold", catSmall8, nil}, {"cat2000p8_warm", catSmall8, nil}},
			same: `cd "$S" && xargs -0 -a "$LIST" cat | sha256sum`,
		},
		{name: groupCopy, steps: []workload{{id: copySmall}, {id: copyBig}}, copy: true},
		{name: "delay-ls", steps: []workload{{"lat_lsR_S", `ls -R "$S" | wc -l`, recursiveLines}}, slow: true},
		{name: "delay-find", steps: []workload{{"lat_find_M500", `find "$M500" -type f | wc -l`, part}}, slow: true},
		{
			name: "delay-cat", steps: []workload{{"lat_cat200p8", catSample8, nil}}, slow: true,
			same: `cd "$S" && xargs -0 -a "$SAMPLE" cat | sha256sum`,
		},
	}
}

// recursiveLines is what ls -R prints of S: for each directory its name, its entries and,
// but for the last, an empty line.
func recursiveLines(c *corpus.Corpus) int {
	return c.S.Folders + (c.S.Documents + c.S.Folders - 1) + (c.S.Folders - 1)
}

// measures are the names under which a group keeps what it measures.
func (g group) measures() []string {
	var ids []string
	if g.name == "list" {
		ids = append(ids, mountAndList)
	}
	for _, w := range g.steps {
		ids = append(ids, w.id)
		if g.copy {
			ids = append(ids, w.id+returned)
		}
	}
	if g.ends {
		ids = append(ids, memory, processor)
	}
	return ids
}

// wrong says what is wrong with the output of a command, "" when nothing is.
func (w workload) wrong(c *corpus.Corpus, output string) string {
	if w.want == nil {
		return ""
	}
	if want := strconv.Itoa(w.want(c)); output != want {
		return "printed " + output + ", want " + want
	}
	return ""
}
