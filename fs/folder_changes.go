package fs

// folderChanges makes, removes and renames folders and local directories.
type folderChanges struct{ fs *FileSystem }
