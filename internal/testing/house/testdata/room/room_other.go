//go:build !linux

package room

func elsewhere() {}
