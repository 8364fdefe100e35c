// Package say prints.
package say

import "fmt"

// Sayf prints as fmt.Printf does.
func Sayf(format string, args ...any) { fmt.Printf(format, args...) }
