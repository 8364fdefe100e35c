package history

// Shape is what the archive service of a run is like.
type Shape string

// The shapes. Those called embedded are internal/server, the others internal/testing/hostile.
const (
	Full          Shape = "full"           // every operation
	Eight         Shape = "eight"          // the eight operations of the specification
	Silent        Shape = "silent"         // shows no external ids
	SilentEight   Shape = "silent eight"   // neither
	Wordless      Shape = "wordless"       // does not answer uploads with an id
	Late          Shape = "late"           // a new document is missing in the first listing
	Sized         Shape = "sized"          // lists sizes, and answers every content whole
	SameID        Shape = "same id"        // archiving keeps the id of the document
	Embedded      Shape = "embedded"       // every operation, an external id once
	EmbeddedEight Shape = "embedded eight" // the eight operations, an external id once
)

// Shapes returns all shapes.
func Shapes() []Shape {
	return []Shape{Full, Eight, Silent, SilentEight, Wordless, Late, Sized, SameID, Embedded, EmbeddedEight}
}

// Originals reports whether documents can be read as they were uploaded.
func (s Shape) Originals() bool { return s != Eight && s != SilentEight && s != EmbeddedEight }
