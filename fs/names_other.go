//go:build !darwin

package fs

// otherForm is the name itself: names are bytes.
func otherForm(name string) string { return name }
