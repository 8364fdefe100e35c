package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// none stands where nothing was measured.
const none = "-"

// table is a table of Markdown.
type table struct{ strings.Builder }

func newTable(heads ...string) *table {
	t := new(table)
	t.add(heads...)
	_, _ = t.WriteString("|" + strings.Repeat("---|", len(heads)) + "\n") // a Builder takes all
	return t
}

func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(c, "\n", " "), "|", `\|`)
	}
	_, _ = t.WriteString("| " + strings.Join(cells, " | ") + " |\n") // a Builder takes all
}

func either(ok bool, text string) string {
	if ok {
		return text
	}
	return none
}

// measured is the best of a measure, or why there is none.
func measured(s result.Set, system, workload string, u unit) string {
	v, ok := s.Best(system, workload)
	if !ok {
		if note := s.Note(system, workload); note != "" {
			return note
		}
		return none
	}
	return u.text(u.value(s, v))
}

// both is the best and the median of a measure.
func both(s result.Set, system, workload string, u unit) string {
	text := measured(s, system, workload, u)
	if _, ok := s.Best(system, workload); !ok {
		return text
	}
	median := u.text(u.value(s, s[system][workload].Median()))
	if note := s.Note(system, workload); note != "" {
		median += " (" + note + ")"
	}
	return number(text) + " / " + median
}

// spread is the best and the worst of the repeats of a measure.
func spread(s result.Set, system, workload string, u unit) string {
	text := measured(s, system, workload, u)
	if _, ok := s.Best(system, workload); !ok {
		return text
	}
	worst := u.text(u.value(s, slices.Max(s[system][workload].Times)))
	if worst == text {
		return text
	}
	return number(text) + " .. " + worst
}

// number is a text of a unit without the unit.
func number(text string) string {
	number, _, _ := strings.Cut(text, " ")
	return number
}

func requests(s result.Set, system, workload string) string {
	e := s[system][workload]
	if e == nil || len(e.Times) == 0 {
		return none
	}
	return thousands(e.Total())
}

// targetTable compares with the targets, and with the best of the others.
func targetTable(s result.Set) string {
	t := newTable("#", "workload", "native", "juicefs", "best other", "archivefs", "bare service", "requests", "times the best other", "target", "reached")
	for _, row := range targets() {
		cell := func(system string) string { return spread(s, system, row.workload, row.unit) }
		best := none
		if name, _, ok := bestPeer(s, row.workload); ok {
			best = cell(name) + " " + name
		}
		t.add(row.row, row.title, cell(native), cell(juicefs), best, cell(row.of()), cell(row.bare()),
			requests(s, row.of(), row.workload)+" / "+requests(s, row.bare(), row.workload),
			times(s, row.of(), row.workload)+" / "+times(s, row.bare(), row.workload), row.bounds(), verdict(row.reached(s)))
	}
	return t.String()
}

// times says how many times faster than the best other mount one of ours is; it is bold where
// that is slower.
func times(s result.Set, system, workload string) string {
	_, peer, ok := bestPeer(s, workload)
	ours, mine := s.Best(system, workload)
	if !ok || !mine || ours <= 0 {
		return none
	}
	return emphasised(fmt.Sprintf("%.1f", peer/ours), ours > peer)
}

func emphasised(text string, yes bool) string {
	if yes {
		return "**" + text + "**"
	}
	return text
}

func verdict(reached, measured bool) string {
	switch {
	case !measured:
		return none
	case reached:
		return "yes"
	default:
		return "**no**"
	}
}

// summary counts the targets, those of copying in and of growth among them.
func summary(s result.Set) string {
	all, reached := 0, 0
	count := func(yes, measured bool) {
		if measured {
			all++
		}
		if yes && measured {
			reached++
		}
	}
	for _, row := range targets() {
		count(row.reached(s))
	}
	for _, row := range copyRows() {
		count(row.reached(s))
	}
	for _, row := range growthTargets(s) {
		count(row.reached(own))
	}
	return fmt.Sprintf("%d of %d targets are reached; archivefs is ahead of the best other mount in %s rows, and on the bare service in %s.",
		reached, all, ahead(s, target.of), ahead(s, target.bare))
}

// ahead says in how many of the rows that can be compared one of ours is faster than all others.
func ahead(s result.Set, which func(target) string) string {
	n, compared := 0, 0
	for _, row := range targets() {
		_, peer, ok := bestPeer(s, row.workload)
		if ours, mine := s.Best(which(row), row.workload); ok && mine {
			compared++
			if ours < peer {
				n++
			}
		}
	}
	return fmt.Sprintf("%d of %d", n, compared)
}

// untargeted are measures without a target that the table of all shows, too.
func untargeted() []target {
	return []target{
		{title: "`ls` of the root, warm", workload: "ls_root_warm"},
		{title: "`cp -r` 500 documents in, `cp` returned", workload: "cpin500_ret"},
		{title: "`cp` 512 MB in, `cp` returned", workload: "cpin512_ret", unit: speed},
	}
}

// everyWorkload are all measures, each once.
func everyWorkload() []target {
	all := slices.Concat(targets(), untargeted())
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(t target) bool {
		again := seen[t.workload] || t.system != ""
		seen[t.workload] = seen[t.workload] || t.system == ""
		return again
	})
}

// allTable shows every measure of every system: best and median.
func allTable(s result.Set) string {
	systems := mounts(s)
	t := newTable(append([]string{"workload"}, systems...)...)
	for _, row := range everyWorkload() {
		title, _, _ := strings.Cut(row.title, ", sync")
		cells := []string{title}
		for _, system := range systems {
			cells = append(cells, both(s, system, row.workload, row.unit))
		}
		t.add(cells...)
	}
	return t.String()
}

// requestTable shows what the servers were asked.
func requestTable(s result.Set) string {
	var systems []string
	for _, name := range mounts(s) {
		for _, e := range s[name] {
			if len(e.Requests) > 0 {
				systems = append(systems, name)
				break
			}
		}
	}
	t := newTable(append([]string{"workload"}, systems...)...)
	for _, row := range everyWorkload() {
		cells, asked := []string{row.title}, false
		for _, name := range systems {
			e := s[name][row.workload]
			asked = asked || e != nil && len(e.Requests) > 0
			cells = append(cells, counts(e))
		}
		if asked {
			t.add(cells...)
		}
	}
	return t.String()
}

// counts writes requests by method.
func counts(e *result.Entry) string {
	if e == nil || len(e.Times) == 0 {
		return none
	}
	var words []string
	for _, method := range slices.Sorted(maps.Keys(e.Requests)) {
		switch method {
		case "_conns": // says nothing without the connections before
		case "_maxinflight":
			words = append(words, fmt.Sprintf("(%d at a time)", e.Requests[method]))
		default:
			words = append(words, fmt.Sprintf("%s %d", method, e.Requests[method]))
		}
	}
	if len(words) == 0 {
		return "0"
	}
	slices.SortStableFunc(words, func(a, b string) int { return strings.Compare(b[:1], a[:1]) }) // what is in brackets last
	return strings.Join(words, " ")
}

// serverTable compares the servers without a mount.
func serverTable(s result.Set) string {
	t := newTable("server", "512 MB by HTTP", "500 documents sent, by 1 connection", "by 4")
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if short, ok := strings.CutPrefix(name, "server: "); ok {
			t.add(short, both(s, name, "get512", speed), both(s, name, "post500_1", seconds), both(s, name, "post500_4", seconds))
		}
	}
	return t.String()
}

// aboutTable says where and with what was measured.
func aboutTable(s result.Set) string {
	t := newTable("", "")
	for _, name := range slices.Sorted(maps.Keys(s[result.About])) {
		t.add(name, s[result.About][name].Note)
	}
	return t.String()
}
