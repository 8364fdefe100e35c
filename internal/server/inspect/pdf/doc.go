// Package pdf counts the pages of a PDF (ISO 32000-1). It reads no more than it needs for that: from
// the end of the file to the table of objects, the catalog and the root of the pages. Libraries read
// all objects first, and take seconds and a gigabyte where a stranger wants them to. Nothing is
// repaired: what cannot be read is an error.
package pdf
