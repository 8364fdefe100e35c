// Package result keeps what the benchmarks measured: a file of JSON with an object for each
// system, which holds one for each workload.
//
//	{"archivefs": {"find_M_cold": {"t": [0.81, 0.79], "reqs": {"documents": 1}, "note": "..."}}}
//
// What is not measured in seconds (memory) stands there in the same way. The system About
// holds notes alone: what was measured, and where.
package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// About is the system that is none: its notes say what was measured, and where.
const About = "_about"

// NotRun begins the notes of About that say why a system is not there.
const NotRun = "not run: "

// BigBytes is the note of About that tells the size of the big document in bytes.
const BigBytes = "big document, bytes"

// Entry is one workload on one system.
type Entry struct {
	Times    []float64      `json:"t"`              // one for each repeat, as they came
	Requests map[string]int `json:"reqs,omitempty"` // of the last repeat, by method or operation
	Note     string         `json:"note,omitempty"` // why there are fewer times, or none
}

// Set is all results, by system and workload.
type Set map[string]map[string]*Entry

// Read reads a file of results; one that is not there is empty.
func Read(path string) (Set, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator names it
	if os.IsNotExist(err) {
		return Set{}, nil
	}
	if err != nil {
		return nil, err
	}
	s := Set{}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s holds no results: %w", path, err)
	}
	return s, nil
}

// Write replaces the file.
func (s Set) Write(path string) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// Entry returns the entry of a workload, and makes it when there is none.
func (s Set) Entry(system, workload string) *Entry {
	if s[system] == nil {
		s[system] = map[string]*Entry{}
	}
	if s[system][workload] == nil {
		s[system][workload] = &Entry{Times: []float64{}}
	}
	return s[system][workload]
}

// Forget drops what an earlier run measured.
func (s Set) Forget(system string, workloads ...string) {
	for _, w := range workloads {
		delete(s[system], w)
	}
}

// Best returns the least of the repeats; false where nothing was measured. Another harness
// keeps the time of a command that failed beside a note that says so: that is none.
func (s Set) Best(system, workload string) (float64, bool) {
	e := s[system][workload]
	if e == nil || len(e.Times) == 0 || strings.HasPrefix(e.Note, "rc ") || strings.Contains(e.Note, "wrong count") {
		return 0, false
	}
	return slices.Min(e.Times), true
}

// Note is what is said about a workload.
func (s Set) Note(system, workload string) string {
	if e := s[system][workload]; e != nil {
		return e.Note
	}
	return ""
}

// Median returns the median of the repeats, 0 where there is none.
func (e *Entry) Median() float64 {
	t := slices.Sorted(slices.Values(e.Times))
	switch n := len(t); {
	case n == 0:
		return 0
	case n%2 == 1:
		return t[n/2]
	default:
		return (t[n/2-1] + t[n/2]) / 2
	}
}

// Total is the number of requests of an entry. What begins with _ is no request.
func (e *Entry) Total() int {
	total := 0
	for method := range maps.Keys(e.Requests) {
		if method[0] != '_' {
			total += e.Requests[method]
		}
	}
	return total
}
