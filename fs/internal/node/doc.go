// Package node translates between FUSE and the model: nodes (dirNode, fileNode, renditionNode and those of
// .archivefs) and handles (dirHandle, readHandle, laterHandle, writeHandle). Kernel is what they share, and
// says what the kernel is told, and for how long it may trust that.
package node
