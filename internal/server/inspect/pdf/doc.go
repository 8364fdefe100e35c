// Package pdf finds out how many pages a PDF has (ISO 32000-1), and reads little more of it than
// it needs for that: from the end of the file to the table of objects, the catalog and the root
// of the pages. Libraries that read all objects take seconds and a gigabyte where a stranger wants
// them to. What cannot be read so is an error: nothing is repaired.
package pdf
