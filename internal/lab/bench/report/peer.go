package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// isPeer tells whether a system is somebody else's network mount.
func isPeer(system string) bool {
	return !isReference(system) && !isOwn(system) && system != result.About && !strings.HasPrefix(system, "server: ")
}

// isReference tells whether a system keeps names and contents on the machine itself.
func isReference(system string) bool { return slices.Contains(references(), system) }

func references() []string { return []string{juicefs, native, nativeSynced, loopback} }

func isOwn(system string) bool { return system == own || strings.HasPrefix(system, own+"-") }

// isBare tells whether a system is archivefs on a service without sizes, HEAD and Range.
func isBare(system string) bool { return system == foreign || system == foreignAsync }

// mounts are the systems to be shown beside each other: ours, the others, and the references.
func mounts(s result.Set) []string {
	var ours, others []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		switch {
		case isOwn(name):
			ours = append(ours, name)
		case isPeer(name):
			others = append(others, name)
		}
	}
	there := slices.DeleteFunc(references(), func(name string) bool { return s[name] == nil })
	return slices.Concat(ours, others, there)
}

// bestPeer returns the best of the other mounts.
func bestPeer(s result.Set, workload string) (name string, measured float64, ok bool) {
	for _, system := range mounts(s) {
		if !isPeer(system) {
			continue
		}
		if v, there := s.Best(system, workload); there && (!ok || v < measured) {
			name, measured, ok = system, v, true
		}
	}
	return name, measured, ok
}

// notRun names the systems that were left out, and says why.
func notRun(s result.Set) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(s[result.About])) {
		if system, ok := strings.CutPrefix(name, result.NotRun); ok {
			texts = append(texts, system+" ("+s.Note(result.About, name)+")")
		}
	}
	return strings.Join(texts, ", ")
}

// bigBytes is the size of the big document.
func bigBytes(s result.Set) float64 {
	if n, err := strconv.ParseFloat(s.Note(result.About, result.BigBytes), 64); err == nil {
		return n
	}
	return 512 << 20
}
