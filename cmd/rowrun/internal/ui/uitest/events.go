package uitest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Tell sends a line to every reader of /events.
func (s *Server) Tell(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(line)
}

func (s *Server) tell(line string) {
	s.position++
	event := fmt.Sprintf("id: %d\ndata: %s\n\n", s.position, line)
	for reader := range s.readers {
		select {
		case reader <- event:
		default: // too slow: it will read again
		}
	}
}

// CutOff ends every reader of /events; refuse says that new ones get 503.
func (s *Server) CutOff(refuse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
	for reader := range s.readers {
		close(reader)
		delete(s.readers, reader)
	}
}

// Readers is how many read /events.
func (s *Server) Readers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.readers)
}

// Change moves one task of a plan on and tells of it: its id, "" where none is left.
func (s *Server) Change(planID string, from, to byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.move(s.plan(planID), from, to)
}

func (s *Server) move(p *plan, from, to byte) string {
	for i := range p.ids {
		if p.status[i] != from {
			continue
		}
		p.touch(i)
		p.status[i], p.since[i], p.cause[i] = to, time.Now().UnixMilli(), nil
		s.tell(fmt.Sprintf(`{"level":"info","time":%q,"stream":"task_run","event":"task_run.x","run_id":%s,"root_id":%s,"task_id":%s,"plan_id":%s,"attempt":0,"from":%q,"to":%q,"retry_run_id":null}`,
			time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), runPrefix+p.ids[i], runPrefix+p.ids[i], p.ids[i], p.id, word[from], word[to]))
		return p.ids[i]
	}
	return ""
}

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.refuse {
		s.mu.Unlock()
		http.Error(w, "too many readers", http.StatusServiceUnavailable)
		return
	}
	reader := make(chan string, 4096)
	s.readers[reader] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.readers, reader)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	_, _ = w.Write([]byte("retry: 200\n: stream\n\n"))
	_ = control.Flush()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	owed := 0.0
	for {
		select {
		case <-r.Context().Done():
			return
		case event, open := <-reader:
			if !open {
				return
			}
			if _, err := w.Write([]byte(event)); err != nil || control.Flush() != nil {
				return
			}
		case <-tick.C:
			owed += float64(s.options.Rate) / 20
			for ; owed >= 1; owed-- {
				s.next(r.URL.Query().Get("plan"))
			}
		}
	}
}

// next moves something on, as a deployment under load would.
func (s *Server) next(planID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plan(planID)
	if p == nil {
		p = s.plans[s.position%len(s.plans)]
	}
	for try := range 4 {
		from := "RAPR"[(s.position+try)%4]
		to := map[byte]byte{'R': 'D', 'A': 'R', 'P': 'A'}[from]
		if s.move(p, from, to) != "" {
			return
		}
	}
	s.tell(strconv.Quote("nothing left"))
}
