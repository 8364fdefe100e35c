//go:build linux

package main

import (
	"archive/zip"
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

func TestWithoutEngines(t *testing.T) {
	first, second, bare := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "bare")
	for _, name := range []string{filepath.Join(first, "soffice"), filepath.Join(first, "both"), filepath.Join(second, "both"), filepath.Join(second, "tesseract"), filepath.Join(second, "other")} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	if err := withoutEngines(bare, strings.Join([]string{first, "/no/such", second}, string(filepath.ListSeparator))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bare)
	for name, there := range map[string]bool{"soffice": false, "tesseract": false, "both": true, "other": true} {
		if _, err := exec.LookPath(name); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if to, err := os.Readlink(filepath.Join(bare, "both")); err != nil || to != filepath.Join(first, "both") {
		t.Errorf("both is %s, %v", to, err)
	}
}

func TestPickedDocuments(t *testing.T) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	if _, err := w.Create("word/document.xml"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m := models{}
	for kind := range strings.FieldsSeq(mixed) {
		m[kind] = [][]byte{packed.Bytes()}
	}
	random, seen, kinds := rand.New(rand.NewPCG(1, 1)), map[string]bool{}, map[string]bool{}
	for n := range 200 {
		name, content := m.pick(random, n)
		seen[string(content)], kinds[filepath.Ext(name)] = true, true
		if z, err := zip.NewReader(bytes.NewReader(content), int64(len(content))); strings.HasSuffix(name, "docx") && (err != nil || z.Comment == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(seen) != 200 || len(kinds) != len(m) {
		t.Errorf("%d contents of %d kinds", len(seen), len(kinds))
	}
	for content, want := range map[string]string{"%PDF-1.4": "pdf", "II*\x00": "tif", "\xff\xd8\xff\xe0": "jpg", "PK\x03\x04": "xlsx", "Text": "txt", "": "txt"} {
		if got := kindOf([]byte(content)); got != want {
			t.Errorf("%q is %s", content, got)
		}
	}
}

func TestRounds(t *testing.T) {
	var latencies []time.Duration
	for n := range 100 {
		latencies = append(latencies, time.Duration(n+1)*time.Millisecond)
	}
	slices.Reverse(latencies)
	twice := make([]time.Duration, len(latencies))
	for i := range latencies {
		twice[i] = 2 * latencies[i]
	}
	var b strings.Builder
	err := writeRounds(&b, options{uploads: 100, pace: 2.5, after: time.Second}, []round{
		{with: true, latencies: twice, service: machine.Usage{Peak: 50, CPU: 1, Children: 2}, most: 3, memory: 400}, {latencies: latencies, service: machine.Usage{Peak: 40, CPU: 1}},
		{latencies: latencies[:1]}, {with: true, latencies: twice, service: machine.Usage{Peak: 60, CPU: 1, Children: 2}, most: 2, memory: 300},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"100 uploads of mixed documents in each round, by 4 clients at 2.5 a second, and 1s to read on.\n",
		"| 1 | yes | 102.00 ms | 192.00 ms | 200.00 ms | 200.00 ms | 50 MiB | 1.0 s | 3 | 400 MiB | 2.0 s |\n",
		"| all | yes | 102.00 ms | 192.00 ms | 200.00 ms | 200.00 ms | 60 MiB | 2.0 s | 3 | 400 MiB | 4.0 s |\n",
		"\np99 with the programs is 2.000 of that without them.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}
