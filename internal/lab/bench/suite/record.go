//go:build linux

package suite

import "fmt"

// record keeps one measure.
func (b *Bench) record(system, workload string, value float64, requests map[string]int) {
	e := b.results.Entry(system, workload)
	e.Times = append(e.Times, float64(int64(value*1e4+.5))/1e4)
	if len(requests) > 0 {
		e.Requests = requests
	}
	b.say("  %-22s %-16s %10.4f  %v", system, workload, value, requests)
	b.save()
}

// giveUp keeps a note in place of a measure; a failure fails the run in the end.
func (b *Bench) giveUp(system, workload string, err error) {
	b.results.Entry(system, workload).Note = err.Error()
	b.say("  %-22s %-16s %v", system, workload, err)
	b.save()
}

func (b *Bench) fail(system, workload string, err error) {
	b.giveUp(system, workload, err)
	b.failures = append(b.failures, fmt.Errorf("%s, %s: %w", system, workload, err))
}

func (b *Bench) save() {
	if err := b.results.Write(b.Results); err != nil {
		b.failures = append(b.failures, err)
	}
}

func (b *Bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.Log, format+"\n", args...) // progress is for show
}
