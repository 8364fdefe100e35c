package fs

// fileChanges makes, removes and renames files and documents.
type fileChanges struct{ fs *FileSystem }
