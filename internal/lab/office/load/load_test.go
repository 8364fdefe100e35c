//go:build linux

package load

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What was written and is missing, is there twice or has other bytes is noticed, and what nobody wrote.
func TestCompare(t *testing.T) {
	written := []*Written{{"a", "A", true}, {"b", "B", true}, {"c", "C", true}, {"d", "D", true}, {"e", "E", false}, {"f", "F", false}, {"g", "G", false}}
	v := compare(written, map[string][]string{"a": {"A"}, "c": {"C", "C"}, "d": {"other"}, "e": {"E"}, "g": {"G", "G"}, "z": {"Z"}})
	if v.Told != 4 || v.Untold != 3 || v.Documents != 1 || len(v.Lost) != 2 || len(v.Doubled) != 2 || len(v.Other) != 2 {
		t.Errorf("%+v", v)
	}
	if v := compare(written[:1], map[string][]string{"a": {"A"}}); v.err() != nil {
		t.Error(v.err())
	}
}

// People find the documents that they look for.
func TestDocuments(t *testing.T) {
	all := Documents(2)
	path, size := file(folders-1, inFolder-1)
	for _, want := range []string{path, in + "/person02/A letter.txt", own + "/person02/99/A letter.txt", walkedFolder(walkedAll-1) + "/A letter.txt"} {
		if all[want] == "" {
			t.Errorf("there is no %s", want)
		}
	}
	if all[path] != paper(path, size) || len(all[path]) != size || paper(path, size) == paper(path+"x", size) {
		t.Error("a paper is not what it should be")
	}
}

// A measure is flat if it does not grow after the first third.
func TestTrend(t *testing.T) {
	for _, c := range []struct {
		of     func(minute int) float64
		flat   bool
		hourly float64
	}{
		{func(int) float64 { return 50 }, true, 0},
		{func(m int) float64 { return float64(min(m, 10)) }, true, 0},
		{func(m int) float64 { return float64(100 + m) }, true, 60},
		{func(m int) float64 { return float64(10 * m) }, false, 600},
	} {
		var all []Sample
		for m := range 30 {
			all = append(all, Sample{At: time.Duration(m) * time.Minute, Resident: c.of(m)})
		}
		got := trend(all, func(s Sample) float64 { return s.Resident })
		if got.Flat() != c.flat || got.Hourly < c.hourly-.01 || got.Hourly > c.hourly+.01 {
			t.Errorf("%+v, want flat %t and %g for each hour", got, c.flat, c.hourly)
		}
	}
}

func TestWaits(t *testing.T) {
	d := newDiary()
	for ms := range 200 {
		d.waits[List] = append(d.waits[List], wait{time.Second, time.Duration(ms+1) * time.Millisecond})
	}
	w := d.between(List, 0, time.Minute)
	if w.String() != "101 / 199 / 200" || len(d.between(List, time.Minute, time.Hour)) != 0 || Waits(nil).String() != "0 / 0 / 0" {
		t.Errorf("%s", w)
	}
}

// The page has a row for each five minutes, and its plots are XML.
func TestWrite(t *testing.T) {
	r := &Result{Plan: Plan{Seed: 3, Clients: 50, For: 10 * time.Minute}, Took: 10 * time.Minute, Verdict: &Verdict{Told: 7, Documents: 6, Lost: []string{"it"}}, Failed: []string{"a failure"}, diary: newDiary()}
	for m := range 10 {
		at := time.Duration(m) * time.Minute
		for _, k := range Kinds() {
			r.diary.waits[k] = append(r.diary.waits[k], wait{at, 20 * time.Millisecond})
		}
		r.Samples = append(r.Samples, Sample{At: at, Resident: float64(m), Descriptors: 40, Goroutines: 30, Load: 1})
	}
	r.Fair = []Fair{{"one user", []Stage{{0, 0, Waits{time.Millisecond}}, {32, 90, Waits{2 * time.Millisecond}}}}}
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "load.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n- a failure\n\n## How long", "\n| 0 to 5 | 20 / 20 / 20 | 5 |", "\n| 5 to 10 |", "\n| all | 20 / 20 / 20 | 10 |", "\n| memory, MiB | 4.0 | 7.5 | +60.0 | 1462.9 KiB for each file that was written |\n",
		"\n| descriptors | 40.0 | 40.0 | +0.0 | flat |\n", "\n| one user | nobody walks | 0 | 1 / 1 / 1 | 1 |\n| one user | 32 | 90 | 2 / 2 / 2 | 1 |\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q:\n%s", want, b)
		}
	}
	for _, file := range []string{"load-waits.svg", "load-mount.svg"} {
		f, err := os.Open(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(f)
		for err == nil {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", file, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	var lines []string
	r.Print(func(format string, _ ...any) { lines = append(lines, format) })
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "a failure") || !strings.Contains(err.Error(), "memory, MiB of the mount") || slices.Contains(lines, "") {
		t.Error(err)
	}
}
