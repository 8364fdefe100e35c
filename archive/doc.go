// Package archive defines the terms of the domain: mandators, folders, inboxes, documents, the
// operations on them, and the kinds of errors of an archive service. It imports only the standard
// library; every other package uses its types.
package archive
