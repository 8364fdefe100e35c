// Package mutation breaks archivefs on purpose: each mutation takes away one thing that a
// promise rests on, by replacing a text of the source in a build (go build -overlay). A lab
// that does not notice a mutation proves nothing about the thing it takes away.
//
// A mutation brings along a focus, histories that pass the place it breaks. A text that is
// not in the source any more, or not exactly once, is an error: then the table is out of
// date.
package mutation
