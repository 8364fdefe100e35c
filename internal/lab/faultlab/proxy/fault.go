package proxy

import (
	"fmt"
	"net/http"
	"time"
)

// Deed is what is done to a request.
type Deed string

// The deeds. Those called "after" strike when the service has carried the request out.
const (
	ResetBefore  Deed = "reset before"
	ResetDuring  Deed = "reset during" // half of the request was sent
	ResetAfter   Deed = "reset after"
	AnswerBefore Deed = "answer before" // with Fault.Status
	AnswerAfter  Deed = "answer after"
	HangBefore   Deed = "hang before" // for Fault.For, until the client gives up or until healed
	HangAfter    Deed = "hang after"
	Truncate     Deed = "truncated answer"
	Garbage      Deed = "garbage answer"
	Trickle      Deed = "trickling answer" // a byte every Fault.For, blanks first
	Delay        Deed = "delay"            // for Fault.For
	Slow         Deed = "slow"             // carried out after Fault.For, although the client was killed
	Away         Deed = "away"             // connections are refused for Fault.For, or until healed
)

// Deeds returns all of them.
func Deeds() []Deed {
	return []Deed{
		ResetBefore, ResetDuring, ResetAfter, AnswerBefore, AnswerAfter, HangBefore, HangAfter, Truncate, Garbage, Trickle, Delay, Slow, Away,
	}
}

// Fault says which requests are struck, and how.
type Fault struct {
	Op Operation
	// Nth is the first request that is struck, from 1; Times is how many are.
	Nth, Times int
	Deed       Deed
	// Status of the answers; 429 and 503 come with Retry-After: 1.
	Status int
	For    time.Duration
}

// name is how a fault that struck is counted.
func (f *Fault) name() string {
	if f.Deed == AnswerBefore || f.Deed == AnswerAfter {
		return fmt.Sprintf("net %s %d", f.Deed, f.Status)
	}
	return "net " + string(f.Deed)
}

// planned is a fault at work.
type planned struct {
	Fault
	seen int
}

// Fail plans faults, beside those that are planned.
func (p *Proxy) Fail(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range faults {
		p.plan = append(p.plan, &planned{Fault: f})
	}
}

// strike returns the fault that strikes a request, nil for none. Of several the one planned
// first does, and all of them count the request.
func (p *Proxy) strike(op Operation) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	var struck *Fault
	for _, f := range p.plan {
		if f.Op != Any && f.Op != op {
			continue
		}
		f.seen++
		if f.seen >= f.Nth && f.seen < f.Nth+f.Times && struck == nil {
			struck = &f.Fault
		}
	}
	if struck != nil {
		p.struck[struck.name()]++
	}
	return struck
}

// refusal writes an answer that the service did not give.
func refusal(w http.ResponseWriter, status int) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, "the proxy answers instead of the service", status)
}
