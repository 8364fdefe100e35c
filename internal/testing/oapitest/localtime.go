package oapitest

import (
	"fmt"
	"time"
)

// LocalTime is a time of the service, which has no zone.
type LocalTime struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *LocalTime) UnmarshalJSON(text []byte) (err error) {
	for _, layout := range []string{`"2006-01-02T15:04:05"`, `"` + time.DateTime + `"`} {
		if t.Time, err = time.Parse(layout, string(text)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("read a time: %w", err)
}
