package fs

// WithoutPassthrough disables passthrough.
func (f *FileSystem) WithoutPassthrough() { f.kernel.Passthrough.Refuse() }

// KernelReads reports whether the kernel reads an open file itself (passthrough).
func (f *FileSystem) KernelReads() bool { return f.kernel.Handles.ReadByKernel() }

// OpenHandles returns how many files the kernel has open.
func (f *FileSystem) OpenHandles() int { return f.kernel.Handles.Count() }

// WithoutEpochs simulates a kernel without epochs.
func (f *FileSystem) WithoutEpochs() { f.kernel.Epochs.Stop() }
