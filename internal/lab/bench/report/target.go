package report

import (
	"fmt"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// Names of our own systems in results, and what no system is.
const (
	native       = "native"
	nativeSynced = "native-fdatasync"
	own          = "archivefs"
	async        = "archivefs-async"
	grace        = "archivefs-grace"
	loopback     = "loopback-fdatasync"
	foreign      = "archivefs-foreign"
	foreignAsync = "archivefs-foreign-async"
	juicefs      = "juicefs-tuned"
)

// unit is how a measure is shown.
type unit int

const (
	seconds  unit = iota
	speed         // MB/s of the big document, from seconds
	mebibyte      // MiB of memory
)

// target is a row of the table of targets.
type target struct {
	row      string // its number
	title    string
	workload string
	system   string // which of ours
	unit     unit
	bound    float64 // at most, or of speeds at least
	requests int     // at most; 0: any number
	kept     string  // a workload that must ask for nothing, as what was read is kept
	perFile  float64 // bytes of memory for each further document at most; 0: any number
}

// targets are the figures that archivefs must reach, as issue and design set them.
func targets() []target {
	return []target{
		{row: "1", title: "mount to first `ls`", workload: "mount_ls", bound: .05},
		{row: "2", title: "`ls -l` W, cold", workload: "lsl_W_cold", bound: .5},
		{row: "3", title: "`ls -l` W, warm", workload: "lsl_W_warm", bound: .12},
		{row: "4", title: "`find` M, cold", workload: "find_M_cold", bound: 1.2, requests: 20},
		{row: "5", title: "`find` M, warm", workload: "find_M_warm", bound: .4},
		{row: "6", title: "`find -ls` M, cold", workload: "findls_M_cold", bound: 2},
		{row: "7", title: "`find -ls` M, warm", workload: "findls_M_warm", bound: .6},
		{row: "8", title: "`cat` 512 MB, cold", workload: "cat512_cold", unit: speed, bound: 1300, kept: "cat512_warm"},
		{row: "9", title: "`cat` 512 MB, warm", workload: "cat512_warm", unit: speed, bound: 8000},
		{row: "10", title: "`cat` 2,000 documents, cold", workload: "cat2000_cold", bound: 1.5},
		{row: "11", title: "`cat` 2,000 documents, warm", workload: "cat2000_warm", bound: .4},
		{row: "12", title: "`cat` 2,000, 8 at a time, cold", workload: "cat2000p8_cold", bound: 1},
		{row: "13", title: "`cat` 2,000, 8 at a time, warm", workload: "cat2000p8_warm", bound: .3},
		{row: "14", title: "`cp -r` 500 documents in, durable, async", workload: "cpin500", system: async, bound: .6},
		{row: "14", title: "`cp -r` 500 documents in, durable, sync", workload: "cpin500", bound: 1},
		{row: "15", title: "`cp` 512 MB in, durable", workload: "cpin512", unit: speed, bound: 600},
		{row: "16", title: "`cp` 512 MB in, async, `cp` returned", workload: "cpin512_ret", system: async, unit: speed, bound: 1500},
		{row: "17", title: "+20 ms: `ls -R` S, cold", workload: "lat_lsR_S", bound: .3},
		{row: "18", title: "+20 ms: `find` M500, cold", workload: "lat_find_M500", bound: .3},
		{row: "19", title: "+20 ms: `cat` 200, 8 at a time, cold", workload: "lat_cat200p8", bound: .7},
		{row: "20", title: "memory of the mount after `find` M", workload: "rss_MB", unit: mebibyte, bound: 60, perFile: 400},
		{row: "21", title: "processor time of the mount, `find` M, cold", workload: "cpu_find_s", bound: 1},
	}
}

// of is the system of ours that a target is about.
func (t target) of() string {
	if t.system != "" {
		return t.system
	}
	return own
}

// bare is the same system on a service without sizes, HEAD and Range.
func (t target) bare() string {
	if t.of() == async {
		return foreignAsync
	}
	return foreign
}

// value is what is compared and shown, of a measure.
func (u unit) value(s result.Set, measured float64) float64 {
	if u == speed {
		return bigBytes(s) / 1e6 / measured
	}
	return measured
}

// better tells whether the value a is better than b.
func (u unit) better(a, b float64) bool {
	if u == speed {
		return a > b
	}
	return a < b
}

func (u unit) text(value float64) string {
	switch {
	case u == speed:
		return fmt.Sprintf("%.0f MB/s", value)
	case u == mebibyte:
		return fmt.Sprintf("%.0f MB", value)
	case value >= 100:
		return fmt.Sprintf("%.0f s", value)
	default:
		return fmt.Sprintf("%.3g s", value)
	}
}

// bounds says in words what must be reached.
func (t target) bounds() string {
	text := "at most "
	if t.unit == speed {
		text = "at least "
	}
	text += t.unit.text(t.bound)
	if t.requests > 0 {
		text += fmt.Sprintf(", %d requests", t.requests)
	}
	if t.kept != "" {
		text += ", kept"
	}
	if t.perFile > 0 {
		text += fmt.Sprintf(", %.0f bytes a further document", t.perFile)
	}
	return text
}

// reached tells whether results reach the target; measured is false where there are none.
func (t target) reached(s result.Set) (reached, measured bool) {
	v, ok := s.Best(t.of(), t.workload)
	if !ok {
		return false, s.Note(t.of(), t.workload) != ""
	}
	v = t.unit.value(s, v)
	reached = v == t.bound || t.unit.better(v, t.bound)
	if t.requests > 0 && s[t.of()][t.workload].Total() > t.requests {
		reached = false
	}
	if t.kept != "" {
		again := s[t.of()][t.kept]
		reached = reached && again != nil && again.Total() == 0
	}
	if t.perFile > 0 {
		if bytes, ok := perDocument(s); ok && bytes > t.perFile {
			reached = false
		}
	}
	return reached, true
}
