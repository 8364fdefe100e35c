package hostile

import "sync"

// Fault says what happens to some requests instead of, before or after what the
// service would do.
//
// The transport of net/http repeats a GET or HEAD by itself when the connection was
// used before and is dropped without an answer: Requests shows both, and one drop may
// go unnoticed by the client under test.
type Fault struct {
	// Method and Path choose the requests; empty: any. Path is a pattern relative to
	// the base path, as "/document/{id}/archive".
	Method, Path string
	// Nth is the first of them that is struck, counted from 1 from when the fault is
	// set; 0 means 1.
	Nth int
	// Times is how many are struck in a row: 0 means one, Always all that follow.
	Times int
	Do    Action
}

// Always strikes every request that matches.
const Always = -1

// Action is what a fault does to a request; the constructors are in actions.go.
type Action func(*exchange)

// script is a fault at work.
type script struct {
	Fault
	seen int // matching requests so far
}

// faults are the faults of a service.
type faults struct {
	mu      sync.Mutex
	scripts []*script // guarded by mu
}

// Fault sets a fault. Of several that would strike the same request the one set first
// does, and all of them count it.
func (f *faults) Fault(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scripts = append(f.scripts, &script{Fault: fault})
}

// ClearFaults takes all faults away. Requests already struck are not helped.
func (f *faults) ClearFaults() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scripts = nil
}

// strike returns what is done with a request.
func (f *faults) strike(r *Request) Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	act := Action(nil)
	for _, s := range f.scripts {
		if s.Method != "" && s.Method != r.Method || s.Path != "" && !match(s.Path, r.Path) {
			continue
		}
		s.seen++
		first, times := max(s.Nth, 1), max(s.Times, 1)
		if s.seen < first || s.Times != Always && s.seen >= first+times {
			continue
		}
		if act == nil {
			act = s.Do
		}
	}
	if act == nil {
		return serve
	}
	r.Struck = true
	return act
}

// Gate holds requests up where a fault says so, until the test lets them go on.
type Gate struct {
	arrived chan struct{}
	step    chan struct{}
	open    chan struct{}
	once    sync.Once
}

// NewGate returns a closed gate.
func NewGate() *Gate {
	return &Gate{arrived: make(chan struct{}), step: make(chan struct{}), open: make(chan struct{})}
}

// Arrived yields one value for each arrival of a request at the gate.
func (g *Gate) Arrived() <-chan struct{} { return g.arrived }

// Step waits for a request at the gate and lets it pass once. At an open gate it does
// nothing.
func (g *Gate) Step() {
	select {
	case g.step <- struct{}{}:
	case <-g.open:
	}
}

// Open lets every request pass from now on.
func (g *Gate) Open() { g.once.Do(func() { close(g.open) }) }

// wait returns true when the gate lets the caller pass, false when one of the
// channels ended first.
func (g *Gate) wait(stop, gone <-chan struct{}) bool {
	arrived := g.arrived
	for {
		select {
		case arrived <- struct{}{}:
			arrived = nil // told once
		case <-g.step:
			return true
		case <-g.open:
			return true
		case <-stop:
			return false
		case <-gone:
			return false
		}
	}
}
