// Package change is what mkdir, create, rename, rmdir and unlink mean to the archive. Folders makes,
// removes and renames folders and local directories, Files does so with files and documents.
package change
