//go:build linux

package trial

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// Trials are all of them.
func Trials() []*Trial {
	var all []*Trial
	for _, some := range []func() []*Trial{editors, savers, transfers, packers, copies, shares, sequences, reports} {
		all = append(all, some()...)
	}
	return all
}

// meant is a function of scripts: what can be read here now is what is meant.
const meant = `
meant() { mkdir -p "$W/meant" && cp "$1" "$W/meant/"; }
`

func repeat(s string, n int) string { return strings.Repeat(s, n) }

func itoa(n int) string { return strconv.Itoa(n) }

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
