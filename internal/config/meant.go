package config

import (
	"strings"

	"github.com/xrash/smetrics"
)

// Meant names the candidate that is most like name, as a remark for the end of a sentence;
// it is empty when none is like it.
func Meant(name string, candidates []string) string {
	const alike, boost, prefix = 0.85, 0.7, 4 // of smetrics.JaroWinkler, which ends at 1
	best, likeness := "", alike
	for _, c := range candidates {
		if l := smetrics.JaroWinkler(strings.ToLower(name), strings.ToLower(c), boost, prefix); l > likeness {
			best, likeness = c, l
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}
