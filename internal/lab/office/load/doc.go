//go:build linux

// Package load lets an office work at a share for some time: many people, each with a session of their own,
// list folders, read documents and write files, with pauses. It measures how long they wait and what the
// mount takes, and compares at the service what was archived with what people were told. Then it measures
// how long they wait beside somebody who walks the whole share.
package load
