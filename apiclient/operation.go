package apiclient

// Operation is an operation of the service, and all that the client knows of it beside the method
// that sends it, above which it is declared.
type Operation struct {
	name   string // as logs and statistics call it
	doing  string // in plain words, as errors say it
	traits traits
}

// String is the name.
func (op Operation) String() string { return op.name }

// is reports whether op has any of the traits.
func (op Operation) is(any traits) bool { return op.traits&any != 0 }

type traits uint8

const (
	// optional: a deployment may lack the operation. A 404 is about the document, unless that is
	// there; where the request is about none, it is about the operation.
	optional traits = 1 << iota
	// rare: a 404 never says that the deployment lacks the operation: what is asked for may be gone,
	// or is lacking for so many documents that nothing follows from it.
	rare
	// perDocument: a single document may lack the content that is returned: it can be lost, or was
	// never rendered.
	perDocument
	// stored: the service needs its content storage to answer.
	stored
	// returnsContent: the answer is a content, which may have any length.
	returnsContent
	// listing: what the answer leaves out is gone, so an answer of another form is no answer of the service.
	listing
	// bulky: a content or its length is transferred, for which not all connections are used.
	bulky

	// rendition: the original or the PDF of a document.
	rendition = optional | perDocument | stored | returnsContent | bulky
)
