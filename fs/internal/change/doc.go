// Package change carries out mkdir, create, rename, rmdir and unlink in terms of the archive.
// Folders changes folders and local directories, Files changes files and documents.
package change
