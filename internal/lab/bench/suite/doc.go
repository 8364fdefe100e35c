//go:build linux

// Package suite measures whole mounts: archivefs, and beside it other network mounts and
// the plain file system, by the same commands on the same documents.
//
// Cold is a fresh mount with empty state and caches; its server stays warm, so that disks
// are not measured. For the plain file system the page cache is dropped instead. Warm is the
// same command again in the same mount. Durable is when all files that were copied are at
// the server in their final size. With the delay every request takes 20 ms longer.
//
// The repeats go round robin, so that a machine that becomes slower does so for all. A
// command that fails, a wrong count, wrong bytes and a mount that dies are failures: their
// times are not kept, and the run as a whole fails.
package suite
