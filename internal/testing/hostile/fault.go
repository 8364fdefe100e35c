package hostile

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

// Fault sets a fault. Of several that would strike the same request the one set first
// does, and all of them count it.
func (s *Service) Fault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &script{Fault: f})
}

// ClearFaults takes all faults away. Requests already struck are not helped.
func (s *Service) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// strikeLocked returns what is done with a request.
func (s *Service) strikeLocked(r *Request) Action {
	act := Action(nil)
	for _, f := range s.faults {
		if f.Method != "" && f.Method != r.Method || f.Path != "" && !match(f.Path, r.Path) {
			continue
		}
		f.seen++
		first, times := max(f.Nth, 1), max(f.Times, 1)
		if f.seen < first || f.Times != Always && f.seen >= first+times {
			continue
		}
		if act == nil {
			act = f.Do
		}
	}
	if act == nil {
		return serve
	}
	r.Struck = true
	return act
}
