package fs

import "github.com/archivefs/archivefs/fs/internal/content"

// WithoutPassthrough makes the file system one that the kernel reads no files for.
func (f *FileSystem) WithoutPassthrough() {
	f.kernel.passthrough.mu.Lock()
	defer f.kernel.passthrough.mu.Unlock()
	f.kernel.passthrough.asked, f.kernel.passthrough.works = true, false
}

// KernelReads reports whether there is an open file that the kernel reads itself.
func (f *FileSystem) KernelReads() bool {
	f.kernel.handles.mu.Lock()
	defer f.kernel.handles.mu.Unlock()
	for h := range f.kernel.handles.open {
		if r, ok := h.(*readHandle); ok && isReadByKernel(r.file) {
			return true
		}
	}
	return false
}

func isReadByKernel(f *file) bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Way == content.ByKernel
}

// OpenHandles is how many files the kernel has open.
func (f *FileSystem) OpenHandles() int {
	f.kernel.handles.mu.Lock()
	defer f.kernel.handles.mu.Unlock()
	return len(f.kernel.handles.open)
}

// WithoutEpochs makes the kernel of the mount one that begins no epochs.
func (f *FileSystem) WithoutEpochs() { f.kernel.epochs.stop() }
