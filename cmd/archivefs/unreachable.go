package main

import (
	"fmt"

	"github.com/archivefs/archivefs/internal/doctor"
)

// unreachable says what to do when the first request failed.
func (s *session) unreachable(err error) error {
	base := s.client.BaseURL()
	return fmt.Errorf("cannot use the archive service at %s: %w; %s", base, err, join(doctor.Cure(base, err), s.waiting()))
}
