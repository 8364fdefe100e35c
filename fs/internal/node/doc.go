// Package node translates between FUSE and the model: nodes (dirNode, fileNode, renditionNode and those of
// .archivefs) and handles (dirHandle, readHandle, laterHandle, writeHandle). They share Kernel, which decides
// what the kernel may cache, and for how long.
package node
