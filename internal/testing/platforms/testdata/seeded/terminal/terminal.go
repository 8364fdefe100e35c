// Package terminal uses what only Linux has.
package terminal

import "syscall"

// Request reads the settings of a terminal.
func Request() int { return syscall.TCGETS }
