package fs

// WithoutPassthrough makes the file system one that the kernel reads no files for.
func (f *FileSystem) WithoutPassthrough() {
	f.passthrough.mu.Lock()
	defer f.passthrough.mu.Unlock()
	f.passthrough.asked, f.passthrough.works = true, false
}

// KernelReads reports whether the kernel was found to read files of the cache itself.
func (f *FileSystem) KernelReads() bool {
	f.passthrough.mu.Lock()
	defer f.passthrough.mu.Unlock()
	return f.passthrough.works
}
