package hostile

import "sync"

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
