// Package archive holds the words of the domain: mandators, folders, inboxes,
// documents, what can be asked of them, and the kinds of errors that an archive
// service can answer. It imports nothing but the standard library, and every
// other package of archivefs speaks in its terms.
package archive
