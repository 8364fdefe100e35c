//go:build !darwin

package names

// OtherForm returns the name unchanged: names are bytes.
func OtherForm(name string) string { return name }
