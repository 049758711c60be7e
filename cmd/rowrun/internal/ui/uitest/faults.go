package uitest

import (
	"fmt"
	"maps"
)

// Away has the next n requests of a path, as "acts/{id}", answered with 503. An act is done all the same ("acts").
func (s *Server) Away(path string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[path] = n
}

// isAway counts one request. s.mu is held.
func (s *Server) isAway(path string) bool {
	if s.away[path] == 0 {
		return false
	}
	s.away[path]--
	return true
}

// EndActs ends what goes on.
func (s *Server) EndActs() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, act := range s.acts {
		ended := maps.Clone(act) // an answer may still be written
		ended["state"], ended["done"], ended["ended_at"] = "DONE", act["count"], s.start
		s.acts[i] = ended
		s.byID[fmt.Sprint(act["request_id"])] = ended
	}
}

// Act does one to a task of a plan, without a page.
func (s *Server) Act(task, act string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, i := s.taskOf(task); p != nil {
		p.change(i, act)
	}
}
