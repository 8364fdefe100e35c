// Package content is what files show: the bytes that open handles read of a document, the prefetch of
// the next documents, and whether the kernel reads a cached file itself.
//
// It does not depend on FUSE.
package content
