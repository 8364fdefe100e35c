//go:build !darwin

package names

// OtherForm is the name itself: names are bytes.
func OtherForm(name string) string { return name }
