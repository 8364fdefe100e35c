// Package content is what files show: the bytes of a document as those who have it open read
// them, what is prefetched of the next ones, and whether the kernel reads a file of the cache
// itself.
//
// It knows no FUSE.
package content
