package fs

// WithoutPassthrough makes the file system one that the kernel reads no files for.
func (f *FileSystem) WithoutPassthrough() { f.kernel.Passthrough.Refuse() }

// KernelReads reports whether there is an open file that the kernel reads itself.
func (f *FileSystem) KernelReads() bool { return f.kernel.Handles.ReadByKernel() }

// OpenHandles is how many files the kernel has open.
func (f *FileSystem) OpenHandles() int { return f.kernel.Handles.Count() }

// WithoutEpochs makes the kernel of the mount one that begins no epochs.
func (f *FileSystem) WithoutEpochs() { f.kernel.Epochs.Stop() }
