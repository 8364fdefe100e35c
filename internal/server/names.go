package server

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The longest names, in bytes.
const (
	maxFolderName   = 255
	maxDocumentName = 1024
)

// folderNameFault says why a name cannot be a component of a folder path, nothing when
// it can.
func folderNameFault(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "required: a folder needs a name"
	case len(name) > maxFolderName:
		return fmt.Sprintf("longer than %d bytes", maxFolderName)
	case !utf8.ValidString(name):
		return "not UTF-8"
	case strings.ContainsRune(name, '/'):
		return "a slash separates folders and cannot be part of a name"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "contains a control character"
	}
	return ""
}

// documentNameFault says why a document cannot have a name, nothing when it can; nearly
// any will do.
func documentNameFault(name string) string {
	switch {
	case name == "":
		return "required: a document needs a name"
	case len(name) > maxDocumentName:
		return fmt.Sprintf("longer than %d bytes", maxDocumentName)
	}
	return textFault(name)
}

// fileName is the name of a file that was sent as a whole path of Windows. A backslash elsewhere is part of a name.
func fileName(sent string) string {
	if strings.HasPrefix(sent, `\`) || windowsDrive.MatchString(sent) {
		return sent[strings.LastIndexByte(sent, '\\')+1:]
	}
	return sent
}

var windowsDrive = regexp.MustCompile(`^[A-Za-z]:\\`)
