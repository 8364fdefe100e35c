//go:build !linux

package spool

// boot names the run of the machine, which other systems than Linux do not tell in a way that
// can be relied on.
func boot() string { return "" }
