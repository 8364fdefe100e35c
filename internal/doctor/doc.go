// Package doctor checks what a mount needs, and says how to fix what is wrong. Each check is a
// function of its arguments. It changes nothing, and sends only requests that read.
package doctor
