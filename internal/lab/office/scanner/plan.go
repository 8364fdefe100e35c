//go:build linux

package scanner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/archivefs/archivefs/internal/lab/faultlab/proxy"
	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// Kind is how a device writes.
type Kind string

// The kinds.
const (
	AtOnce    Kind = "at once"                         // made, written and closed
	Slowly    Kind = "kept open between pages"         // with pauses longer than a file takes to settle
	PageWise  Kind = "page by page, closed after each" // by FTP with APPE
	Renamed   Kind = "under a temporary name, renamed" // at its end
	Twice     Kind = "twice under one name"            // two scans, one at once after the other
	Daily     Kind = "under the name of every day"     // of the device
	Resumed   Kind = "broken off and resumed"          // by FTP with REST; by SMB from where it was
	BrokenOff Kind = "broken off, and not tried again"
)

// Kinds are all of them.
func Kinds() []Kind {
	return []Kind{AtOnce, Slowly, PageWise, Renamed, Twice, Daily, Resumed, BrokenOff}
}

// Server is what a device writes to.
type Server string

// The servers.
const (
	Samba   Server = "Samba"
	Vsftpd         = Server(host.Vsftpd)
	Proftpd        = Server(host.Proftpd)
)

// serverOf is the server of a device. The devices take turns.
func serverOf(device int) Server { return []Server{Samba, Vsftpd, Proftpd}[device%3] }

// Job is something that a device scans.
type Job struct {
	N      int
	Device int
	Kind   Kind
	Papers []*Paper
	// Pause is between two pages, and Cut after which write the connection is cut, 0 for not at all.
	Pause time.Duration
	Cut   int
}

// Trouble is what fails for all devices when a job begins.
type Trouble struct {
	Job  int
	What What
	// Fault is what the wire does, where it is that.
	Fault proxy.Fault
}

// What is a trouble of the machine.
type What string

// The troubles.
const (
	Wire        What = "requests fail"
	KillService What = "service killed and started again"
	KillMount   What = "mount killed and mounted again"
)

// Plan is what is done.
type Plan struct {
	Seed     uint64
	Devices  int
	Jobs     []*Job
	Troubles []Trouble
}

// NewPlan draws a plan.
func NewPlan(seed uint64, jobs, devices int) *Plan {
	rnd := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a plan, not a secret
	p := &Plan{Seed: seed, Devices: devices}
	papers := 0
	for n := range jobs {
		j := &Job{N: n, Device: rnd.IntN(devices), Kind: Kinds()[rnd.IntN(len(Kinds()))], Pause: time.Duration(10+rnd.IntN(200)) * time.Millisecond}
		format := []Format{PDF, TIFF, JPEG}[rnd.IntN(3)]
		pages := 1 + rnd.IntN(6)
		name := fmt.Sprintf("scan%05d.%s", n, format)
		scans := 1
		switch j.Kind {
		case Slowly:
			j.Pause, pages = 2500*time.Millisecond, 2
		case Twice:
			scans = 2
		case Daily:
			name = fmt.Sprintf("device%d.%s", j.Device+1, format)
		case BrokenOff:
			pages = 2 + rnd.IntN(5)
		}
		if format == JPEG {
			pages = 1
		}
		for range scans {
			j.Papers = append(j.Papers, newPaper(rnd, papers, j.Kind, format, name, pages))
			papers++
		}
		writes := 0
		for _, paper := range j.Papers {
			writes += writesOf(paper)
		}
		if j.Kind == BrokenOff || j.Kind == Resumed || rnd.IntN(4) == 0 {
			j.Cut = 1 + rnd.IntN(writes)
		}
		if j.Kind == BrokenOff || j.Kind == Resumed {
			j.Cut = min(j.Cut, max(1, writes-1)) // its last bytes do not arrive
		}
		p.Jobs = append(p.Jobs, j)
	}
	for n := 10; n < jobs; n += 10 + rnd.IntN(30) {
		p.Troubles = append(p.Troubles, newTrouble(rnd, n))
	}
	return p
}

func newTrouble(rnd *rand.Rand, job int) Trouble {
	faults := []proxy.Fault{
		{Deed: proxy.AnswerBefore, Status: 503, Times: 1 + rnd.IntN(8)},
		{Deed: proxy.AnswerAfter, Status: 500, Times: 1},
		{Deed: proxy.ResetBefore, Times: 1 + rnd.IntN(8)},
		{Deed: proxy.ResetDuring, Times: 1 + rnd.IntN(4)},
		{Deed: proxy.ResetAfter, Times: 1 + rnd.IntN(4)},
		{Deed: proxy.HangAfter, Times: 1, For: 3 * time.Second},
		{Deed: proxy.Away, Times: 1, For: time.Duration(1+rnd.IntN(6)) * time.Second},
	}
	t := Trouble{Job: job, What: Wire, Fault: faults[rnd.IntN(len(faults))]}
	t.Fault.Nth, t.Fault.Op = 1, []proxy.Operation{proxy.Any, proxy.Upload}[rnd.IntN(2)]
	switch rnd.IntN(4) {
	case 0:
		t.What = KillService
	case 1:
		t.What = KillMount
	}
	return t
}

// piece is how much a device writes at once.
const piece = 8 << 10

// writesOf is how often something is written for a paper.
func writesOf(p *Paper) (n int) {
	for _, part := range p.parts {
		n += len(slices.Collect(slices.Chunk(part, piece)))
	}
	return n
}
