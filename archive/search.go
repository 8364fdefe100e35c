package archive

import "time"

// Search says which documents are looked for: those that fulfil all of it.
type Search struct {
	// Text are words and phrases that occur somewhere in a document; a phrase is in double
	// quotes.
	Text []string
	// Name are words that occur in the name.
	Name     []string
	Keywords []string
	// Type is a document type.
	Type string
	// From and To are the first and the last day, of which only the date counts; zero: none.
	From, To time.Time
	// Folder is one that the documents lie in, at any depth; 0: anywhere.
	Folder ID
}

// Hit is a document that a search found.
type Hit struct {
	Document ID
	Name     string
	Pages    int
	Created  time.Time
	// Folder is the one that the document lies in, 0 when the answer does not say.
	Folder ID
	// Mandator is the name of the one that the document belongs to, empty in an inbox.
	Mandator string
}

// Hits is what a search found.
type Hits struct {
	List []Hit
	// Total is how many there are, of which List may be the first ones.
	Total int
}
