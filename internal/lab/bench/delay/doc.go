// Package delay is a slow network: a proxy on loopback that lets a server seem far away,
// and counts what passes.
package delay
