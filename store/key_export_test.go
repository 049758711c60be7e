package store

// SpareKeys is how many claims are kept for the next pass.
func (s *Store) SpareKeys() int {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	return len(s.keys.spare)
}
