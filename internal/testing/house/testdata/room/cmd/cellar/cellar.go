// Command cellar is below.
package main

import (
	_ "example.com/room"
	"example.com/room/stone"
)

// Floor offers what a stone does, and a method of its own.
type Floor struct{ stone.Stone }

func (f *Floor) Sweep() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Stone.Mu.TryLock() {
		f.Mu.Unlock()
	}
}

func main() {}
