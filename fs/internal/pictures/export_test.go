package pictures

import "time"

// SetAgain sets how long m waits before it looks for removed thumbnails. It is called before the first Show.
func (m *Maker) SetAgain(d time.Duration) { m.again = d }
