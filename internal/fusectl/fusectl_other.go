//go:build !linux

package fusectl

// Connection is none: only Linux lists them.
type Connection struct{}

// Find finds none.
func Find(uint32) (Connection, error) { return Connection{}, ErrNone }

// Abort says that there is none.
func (Connection) Abort() error { return ErrNone }

// Close does nothing.
func (Connection) Close() {}
