// Package cellar is below.
package cellar

import (
	_ "example.com/room"
	_ "example.com/room/stone"
)
