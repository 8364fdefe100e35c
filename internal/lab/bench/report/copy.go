package report

import (
	"fmt"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// copyRow is a way to copy in, which is compared with a floor: the FUSE loopback that syncs each file when it is
// closed, or the plain file system whose files are synced one by one.
type copyRow struct {
	title, workload string
	system, bare    string  // which of ours
	floor, synced   string  // the system that it is compared with, and its workload
	bound           float64 // times of that at most; 0: any number
}

func copyRows() []copyRow {
	const small, big, ret = "cpin500", "cpin512", "_ret"
	const service, bareService, sent = "server: archivefs", "server: archivefs-foreign", "post500"
	return []copyRow{
		{"`cp -r` 500 documents in, async with a time of grace, `cp` returned", small + ret, grace, "", loopback, small, 1.3},
		{"`cp -r` 500 documents in, async, `cp` returned", small + ret, async, foreignAsync, loopback, small, 2},
		{"`cp -r` 500 documents in, async, durable", small, async, foreignAsync, loopback, small, 2.5},
		{"`cp -r` 500 documents in, sync", small, own, foreign, loopback, small, 3},
		{"the service alone, the same by 1 connection", "post500_1", service, bareService, nativeSynced, sent, 2.5},
		{"the service alone, by 4 connections", "post500_4", service, bareService, nativeSynced, sent, 1.3},
		{"`cp` 512 MB in, async, `cp` returned", big + ret, async, foreignAsync, nativeSynced, big, 1.3},
		{"`cp` 512 MB in, async, durable", big, async, foreignAsync, nativeSynced, big, 0},
		{"`cp` 512 MB in, sync", big, own, foreign, nativeSynced, big, 2},
	}
}

// times is how long a system takes, compared with the floor.
func (r copyRow) times(s result.Set, system string) (times float64, ok bool) {
	base, ok1 := s.Best(r.floor, r.synced)
	ours, ok2 := s.Best(system, r.workload)
	return ours / base, ok1 && ok2 && base > 0
}

// reached tells whether the bound is kept; measured is false where there is none, or no measure.
func (r copyRow) reached(s result.Set) (reached, measured bool) {
	times, ok := r.times(s, r.system)
	return times <= r.bound, ok && r.bound > 0
}

// copyTable compares copying in with its floor, which is the least that a mount must do that loses nothing.
func copyTable(s result.Set) string {
	t := newTable("workload", "native", "native, fdatasync of each file", "FUSE loopback, fdatasync of each file", "archivefs", "times that", "bare service", "times that", "at most", "reached")
	for _, row := range copyRows() {
		cell := func(system, workload string) string { return spread(s, system, workload, seconds) }
		ratio := func(system string) string {
			times, ok := row.times(s, system)
			return either(ok, fmt.Sprintf("%.1f", times))
		}
		t.add(row.title, cell(native, row.synced), cell(nativeSynced, row.synced), cell(loopback, row.synced), cell(row.system, row.workload), ratio(row.system),
			cell(row.bare, row.workload), ratio(row.bare), either(row.bound > 0, fmt.Sprint(row.bound)), verdict(row.reached(s)))
	}
	return t.String()
}
