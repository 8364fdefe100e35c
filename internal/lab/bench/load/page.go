//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// page is what is written of all results.
type page struct {
	options
	raw, results []result
	filled       []time.Duration // for each size
}

// about are the commands that tell where and with what was measured.
var about = []struct{ name, command string }{
	{"Processors", `echo "$(nproc), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"`},
	{"Memory", `awk '/MemTotal/ {printf "%.0f GB", $2 / 1e6}' /proc/meminfo`},
	{"Kernel", "uname -sr"},
	{"File system", `findmnt -n -o FSTYPE -T "$DIR"`},
	{"Commit", "git describe --always --exclude '*'"},
	{"nginx", "nginx -v 2>&1"},
	{"Date", "date -u +%F"},
}

const head = `# The service under load

Made by ` + "`scripts/bench-serve --out docs/benchmarks/SERVICE.md`" + `, which takes about %s. Each client is a connection on loopback, and sends its next
request when the last one is answered; service, clients and nginx share the processors. Each figure was taken over %s, after a fifth of
that to warm up.

| | |
|---|---|
`

const between = `
Lists are of any of the folders, each with 1,000 documents; contents of 1 MiB of the first 10,000 documents, which share %d; uploads
are PDFs of 100 KB, all different, and answered when they are on disk. Of the mixed requests 70 %% are contents, 20 %% lists, 10 %% uploads.
The service keeps its documents in SQLite and asks for an API key. Beside the requests it finds out the texts of what came before, and
puts them into its index. nginx serves one static file to anybody.

| Request | Connections | Documents | Requests/s | MB/s | p50 | p99 |
|---|---|---|---|---|---|---|
`

// write writes the page.
func (p page) write(ctx context.Context, out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, head, p.estimate(), p.each)
	for _, a := range about {
		r, err := machine.Run(ctx, a.command, []string{"DIR=" + p.dir}, 10*time.Second)
		if err == nil && r.Output != "" { // what is not there is not named
			fmt.Fprintf(&b, "| %s | %s |\n", a.name, strings.TrimSpace(r.Output))
		}
	}
	fmt.Fprintf(&b, between, distinct)
	for _, connections := range p.connections {
		var last string
		for _, name := range p.names() {
			for _, r := range append(append([]result(nil), p.raw...), p.results...) {
				if r.operation == name && r.connections == connections {
					fmt.Fprintln(&b, row(r, name == last))
					last = name
				}
			}
		}
	}
	b.WriteString("\nTo fill the archive in batches, beside the service:")
	for i, took := range p.filled {
		fmt.Fprintf(&b, " up to %s documents %.1f s%s", thousands(p.sizes[i]), took.Seconds(), map[bool]string{true: ". ", false: ","}[i == len(p.filled)-1])
	}
	b.WriteString("What was uploaded before is there, too, in a folder of its own.\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// names are those of all operations, once each, in the order in which they were measured.
func (p page) names() (names []string) {
	known := map[string]bool{}
	for _, r := range append(append([]result(nil), p.results...), p.raw...) {
		if !known[r.operation] {
			known[r.operation] = true
			names = append(names, r.operation)
		}
	}
	return names
}

// estimate is how long it all takes, in words.
func (p page) estimate() string {
	all := time.Duration(len(p.results)+len(p.raw)) * p.each * 6 / 5
	for _, took := range p.filled {
		all += took
	}
	return fmt.Sprintf("%.0f s", all.Seconds())
}

// row is a line of the table; again says that the one before is of the same operation.
func row(r result, again bool) string {
	name, documents := r.operation, thousands(r.documents)
	if again {
		name = ""
	}
	if r.documents == 0 {
		documents = ""
	}
	return fmt.Sprintf("| %s | %d | %s | %s | %.0f | %s | %s |", name, r.connections, documents,
		thousands(int(r.perSecond()+0.5)), r.megabytes(), milliseconds(r.quantile(0.5)), milliseconds(r.quantile(0.99)))
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
