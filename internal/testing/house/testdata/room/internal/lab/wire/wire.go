// Package wire does not ship.
package wire

import _ "net/http"
