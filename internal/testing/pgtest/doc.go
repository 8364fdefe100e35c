// Package pgtest runs a real PostgreSQL for tests: Debian's package, as a process of its own
// in a temporary directory, which nobody reaches but by a socket there.
package pgtest
