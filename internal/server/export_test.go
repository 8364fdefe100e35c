package server

// SetContents has contents kept elsewhere from now on.
func (s *Server) SetContents(c contents) { s.vault.contents = c }
