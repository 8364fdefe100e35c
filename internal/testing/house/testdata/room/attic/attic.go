// Package attic is in no program.
package attic
