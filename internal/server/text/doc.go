// Package text makes text of bytes: by their character set, of HTML, and laid out on pages of a
// fixed-width font. All of it takes time and memory in proportion to what it is given, whatever
// that is.
package text
