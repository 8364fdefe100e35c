package server

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The longest names, in bytes.
const (
	maxFolderName   = 255
	maxDocumentName = 1024
)

// checkFolderName refuses names that cannot be a component of a folder path.
func checkFolderName(name string) error {
	const field = "folder-name"
	switch {
	case strings.TrimSpace(name) == "":
		return invalid(field, "a folder needs a name")
	case len(name) > maxFolderName:
		return invalid(field, "longer than %d bytes", maxFolderName)
	case !utf8.ValidString(name):
		return invalid(field, "not UTF-8")
	case strings.ContainsRune(name, '/'):
		return invalid(field, "a slash separates folders and cannot be part of a name")
	case strings.ContainsFunc(name, unicode.IsControl):
		return invalid(field, "contains a control character")
	}
	return nil
}

// checkDocumentName refuses names that a document cannot have; nearly any will do.
func checkDocumentName(field, name string) error {
	switch {
	case name == "":
		return invalid(field, "a document needs a name")
	case len(name) > maxDocumentName:
		return invalid(field, "longer than %d bytes", maxDocumentName)
	case !utf8.ValidString(name):
		return invalid(field, "not UTF-8")
	}
	return nil
}
