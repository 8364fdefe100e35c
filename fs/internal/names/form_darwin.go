package names

import "golang.org/x/text/unicode/norm"

// OtherForm is the name as the archive most likely has it: programs on macOS decompose
// what a person typed (NFD), other systems compose (NFC).
func OtherForm(name string) string { return norm.NFC.String(name) }
