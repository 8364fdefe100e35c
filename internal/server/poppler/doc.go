// Package poppler draws pages of PDFs and takes their text out, by way of the programs pdftoppm
// and pdftotext of poppler-utils. A PDF of a stranger is read by a process of its own, which
// has bounds for its processor time, its address space and what it may answer, knows no
// secret of this one's environment, and ends with the context. It gets the PDF as an open
// file, never a name that a stranger chose.
package poppler
