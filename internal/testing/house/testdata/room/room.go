// Package room has a knot of two types and a function, 16 lines.
package room

import "net/http"

// Door opens into a wall.
type Door[T any] struct {
	In   *Wall
	what T
}

// Colour is none of the knot, but its constants are its own.
type Colour int

const White Colour = iota

func (d *Door[T]) Open() bool { return d.In.open(d) }

func (d Door[T]) Shut() bool {
	return !d.Open() && White == 0
}

type Wall struct{ doors []any }

func (w *Wall) open(d any) bool {
	w.doors = append(w.doors, d)
	return lean(w)
}

func lean(w *Wall) bool {
	_ = Door[int]{}
	return len(w.doors) == http.StatusOK
}

// alone calls itself, which is no knot.
func alone() { alone() }
