package uitest

import "time"

// waves are those of plan 9: the second one has stopped.
func (s *Server) waves(p *plan) []object {
	if p.id != "9" {
		return []object{}
	}
	at := func(minutes int) any { return s.start.Add(time.Duration(minutes) * time.Minute) }
	wave := func(n int, name, status string, tasks, done, failed int, opened, ended, stopped any) object {
		return object{
			"wave": n, "name": name, "status": status, "tasks": tasks, "done": done, "failed": failed, "soak_ms": 1800000, "max_failures": 2,
			"opened_at": opened, "opens_at": nil, "done_at": ended, "stopped_at": stopped,
		}
	}
	name := "tier=canary"
	if s.options.Hostile {
		name = `</title><script>document.title = 'owned'</script>`
	}
	return []object{
		wave(1, name, "DONE", 1, 1, 0, at(-90), at(-80), nil), wave(2, "10%", "DONE", 12, 11, 1, at(-50), at(-40), nil),
		wave(3, "50%", "STOPPED", 60, 51, 3, at(-10), nil, at(-4)), wave(4, "the rest", "WAITING", 73, 0, 0, nil, nil, nil),
	}
}
