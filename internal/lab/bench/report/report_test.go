package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// results are figures of a run, made up.
func results() result.Set {
	s := result.Set{}
	set := func(system, workload string, requests map[string]int, times ...float64) {
		e := s.Entry(system, workload)
		e.Times, e.Requests = times, requests
	}
	set(own, "find_M_cold", map[string]int{"documents": 4, "_conns": 50}, 1, .9)
	set(own, "lsl_W_cold", nil, .6)
	set(own, "cat512_cold", map[string]int{"GET": 1}, .25)
	set(own, "cat512_warm", nil, .05)
	set(own, "rss_MB", nil, 30)
	set(own, growthOf(10_000, "find"), nil, .3)
	set(own, growthOf(10_000, "rss_MB"), nil, 30)
	set(own, growthOf(1_010_000, "find"), nil, 9)
	set(own, growthOf(1_010_000, "rss_MB"), nil, 130)
	set(async, "cpin500", nil, .5)
	set(foreign, "find_M_cold", map[string]int{"documents": 5}, 6)
	set(foreignAsync, "cpin500", nil, .8)
	set(nativeSynced, "cpin500", nil, .15)
	set(loopback, "cpin500", nil, .2)
	set(nativeSynced, "post500", nil, .2)
	set("server: archivefs", "post500_4", nil, .3)
	set(juicefs, "find_M_cold", nil, .1)
	set("peer", "find_M_cold", map[string]int{"PROPFIND": 5011, "_maxinflight": 1}, 4, 5)
	set("peer-tuned", "find_M_cold", nil, 3)
	set("peer-tuned", "lsl_W_cold", nil, .3)
	set("server: nginx", "get512", nil, .2)
	set(native, "find_M_cold", nil, .4)
	s.Entry("peer", "findls_M_cold").Note = "over 1m30s"
	s.Entry(result.About, "kernel").Note = "Linux 6"
	s.Entry(result.About, result.NotRun+"peer-async").Note = "peer is not installed"
	return s
}

// line returns the row of a table that begins with a text.
func line(t *testing.T, table, begin string) string {
	t.Helper()
	for l := range strings.Lines(table) {
		if strings.HasPrefix(l, begin) {
			return strings.TrimSpace(l)
		}
	}
	t.Fatalf("there is no %q in\n%s", begin, table)
	return ""
}

func TestTargets(t *testing.T) {
	table := targetTable(results())
	for begin, want := range map[string]string{
		"| 2 |":  "| 2 | `ls -l` W, cold | - | - | 0.3 s peer-tuned | 0.6 s | - | 0 / - | **0.5** / - | at most 0.5 s | **no** |",
		"| 4 |":  "| 4 | `find` M, cold | 0.4 s | 0.1 s | 3 s peer-tuned | 0.9 .. 1 s | 6 s | 4 / 5 | 3.3 / **0.5** | at most 1.2 s, 20 requests | yes |",
		"| 5 |":  "| 5 | `find` M, warm | - | - | - | - | - | - / - | - / - | at most 0.4 s | - |",
		"| 8 |":  "| 8 | `cat` 512 MB, cold | - | - | - | 2147 MB/s | - | 1 / - | - / - | at least 1300 MB/s, kept | yes |",
		"| 14 |": "| 14 | `cp -r` 500 documents in, durable, async | - | - | - | 0.5 s | 0.8 s | 0 / 0 | - / - | at most 0.6 s | yes |",
		"| 20 |": "| 20 | memory of the mount after `find` M | - | - | - | 30 MB | - | 0 / - | - / - | at most 60 MB, 400 bytes a further document | yes |",
	} {
		if got := line(t, table, begin); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if got := summary(results()); got != "8 of 10 targets are reached; archivefs is ahead of the best other mount in 1 of 2 rows, and on the bare service in 0 of 1." {
		t.Error(got)
	}
}

// What comes with a bound beside time counts.
func TestFurtherBounds(t *testing.T) {
	for name, spoil := range map[string]func(result.Set){
		"4":  func(s result.Set) { s[own]["find_M_cold"].Requests["documents"] = 21 },
		"8":  func(s result.Set) { s[own]["cat512_warm"].Requests = map[string]int{"GET": 1} },
		"20": func(s result.Set) { s[own][growthOf(1_010_000, "rss_MB")].Times[0] = 1000 },
	} {
		s := results()
		spoil(s)
		if got := line(t, targetTable(s), "| "+name+" |"); !strings.HasSuffix(got, "| **no** |") {
			t.Error(got)
		}
	}
}

func TestTables(t *testing.T) {
	s := results()
	if got, want := line(t, growthTable(s), "| 1,010,000 | archivefs |"), "| 1,010,000 | archivefs | - | - | 9 s | 8.91 s | 0 | - | - | 130 MB | - | 105 |"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := line(t, growthTargetTable(s), "| `find`"), "| `find`, cold, for each of 1,010,000 documents, compared with 10,000 | 0.30 times | yes | - | - | at most 1.20 times |"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := line(t, copyTable(s), "| the service alone, by 4"), "| the service alone, by 4 connections | - | 0.2 s | - | 0.3 s | 1.5 | - | - | 1.3 | **no** |"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	all := allTable(s)
	if got, want := line(t, all, "| workload"), "| workload | archivefs | archivefs-async | archivefs-foreign | archivefs-foreign-async | peer | peer-tuned | juicefs-tuned | native | native-fdatasync | loopback-fdatasync |"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := line(t, all, "| `find` M, cold"), "| `find` M, cold | 0.9 / 0.95 s | - | 6 / 6 s | - | 4 / 4.5 s | 3 / 3 s | 0.1 / 0.1 s | 0.4 / 0.4 s | - | - |"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := line(t, all, "| `find -ls` M, cold"); !strings.Contains(got, "| over 1m30s |") {
		t.Error(got)
	}
	if got, want := line(t, requestTable(s), "| `find` M, cold"), "| `find` M, cold | documents 4 | documents 5 | PROPFIND 5011 (1 at a time) |"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := line(t, serverTable(s), "| nginx"), "| nginx | 2684 / 2684 MB/s | - | - |"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := line(t, copyTable(s), "| `cp -r` 500 documents in, async, durable"), "| `cp -r` 500 documents in, async, durable | - | 0.15 s | 0.2 s | 0.5 s | 2.5 | 0.8 s | 4.0 | 2.5 | yes |"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The page shows what is written by hand, and its plots are XML.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.json")
	if err := results().Write(file); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{notesName: "Row 2 is not reached, because.\n", "find-warm.txt": "runtime.memmove\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(file, dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Row 2 is not reached, because.", "```\nruntime.memmove\n```", "](metadata.svg)", "](growth.svg)", "| kernel | Linux 6 |", "Not run here: peer-async (peer is not installed)."} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(page), "](delay.svg)") {
		t.Error("the page shows a plot of what was not measured")
	}
	for _, name := range []string{"metadata.svg", growthFile} {
		wantXML(t, filepath.Join(dir, name))
	}
	if err := Write(filepath.Join(dir, "absent.json"), dir); err == nil {
		t.Error("a page of nothing")
	}
}

func wantXML(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is read
	for d := xml.NewDecoder(f); err == nil; {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("%s: %v", path, err)
	}
}
