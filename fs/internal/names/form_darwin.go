package names

import "golang.org/x/text/unicode/norm"

// OtherForm returns the name in the form that the archive most likely has: programs on macOS
// decompose names (NFD), other systems compose them (NFC).
func OtherForm(name string) string { return norm.NFC.String(name) }
