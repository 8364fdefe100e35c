package blob

// SetPart has contents of more than n bytes sent in parts of that size.
func (b *Bucket) SetPart(n int64) { b.part = n }
