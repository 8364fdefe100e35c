package archive

import "time"

// Search describes the documents to find: those that match all of it.
type Search struct {
	// Text are words and phrases that occur somewhere in a document; a phrase is in double
	// quotes.
	Text []string
	// Name are words that occur in the name.
	Name     []string
	Keywords []string
	// Notes are words that occur in a note, Stamps the titles of stamps.
	Notes, Stamps []string
	// Type is a document type.
	Type string
	// From and To are the first and the last day; zero: none. Only the date counts.
	From, To time.Time
	// Folder is the folder in or below which the documents are; 0: anywhere.
	Folder ID
}

// Hit is a document that a search found.
type Hit struct {
	Document ID
	Name     string
	Pages    int
	Created  time.Time
	// Folder is the folder of the document, 0 if the answer does not say.
	Folder ID
	// Mandator is the name of its mandator: see InInbox.
	Mandator string
}

// InInbox reports whether a document, whose mandator has this name, lies in an inbox: the service
// names a mandator for documents of the archive alone.
func InInbox(mandator string) bool { return mandator == "" }

// Hits is the result of a search.
type Hits struct {
	List []Hit
	// Total is how many documents match. List may have only the first ones.
	Total int
}
