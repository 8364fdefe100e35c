// Package seeded has mistakes that show on some platforms only.
package seeded

// Lines is how many lines a screen has.
func Lines() int { return 25 }
