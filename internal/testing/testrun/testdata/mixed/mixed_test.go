// Package mixed has tests of all results.
package mixed

import "testing"

func TestPasses(t *testing.T) { t.Run("one", func(*testing.T) {}) }

func TestFails(t *testing.T) {
	t.Run("two", func(t *testing.T) { t.Error("a \"word\" <of> it") })
}

func TestSkips(t *testing.T) { t.Skip("not here") }
