// Package stone imports nothing.
package stone
