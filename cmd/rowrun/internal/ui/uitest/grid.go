package uitest

import (
	"strconv"
	"strings"
	"time"
)

// grid is a plan's tasks as columns: all of them, or those that changed since a token.
func (s *Server) grid(id, since string) any {
	p := s.plan(id)
	if p == nil {
		return nil
	}
	after, err := strconv.Atoi(since)
	full := err != nil
	var list []int
	for i := range p.ids {
		if full || p.moved[i] > after {
			list = append(list, i)
		}
	}
	capped := s.options.Shown > 0 && len(list) > s.options.Shown
	if capped {
		list = list[:s.options.Shown]
	}
	n := len(list)
	ids, names, cause := make([]string, n), make([]string, n), make([]any, n)
	kind, db, version, paused, group := make([]int, n), make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	status, runs, attempt, took, at := make([]string, n), make([]any, n), make([]int, n), make([]any, n), make([]int64, n)
	for j, i := range list {
		ids[j], names[j], cause[j] = p.ids[i], p.names[i], p.cause[i]
		kind[j], db[j], version[j], paused[j], group[j] = p.kind[i], p.db[i], p.version[i], p.paused[i], p.group[i]
		status[j] = string(p.status[i])
		if p.status[i] != '-' && (p.status[i] != 'S' || p.under[i] != '-') {
			runs[j] = runPrefix + p.ids[i]
		}
		if p.status[i] == 'F' {
			attempt[j] = 1
		}
		if p.status[i] == 'D' || p.status[i] == 'F' {
			took[j] = p.took[i]
		}
		if p.status[i] == 'R' && p.since[i] < s.start.Add(-5*time.Minute).UnixMilli() {
			p.since[i] = s.start.Add(-time.Duration(p.took[i]*4) * time.Millisecond).UnixMilli()
		}
		at[j] = p.since[i]
	}
	return object{
		"token": strconv.Itoa(p.position), "full": full, "databases": orEmpty(p.databases), "versions": orEmpty(p.versions), "types": p.types,
		"errors": p.errors(), "counts": p.counts(), "capped": capped,
		"tasks": object{
			"id": ids, "name": names, "type": kind, "database": db, "version": version, "status": status, "paused": paused, "run_id": runs,
			"attempt": attempt, "duration_ms": took, "since": at, "cause": cause, "error_group": group,
		},
	}
}

func (p *plan) errors() []object {
	errors := []object{}
	if !strings.Contains(string(p.status), "F") {
		return errors
	}
	for g, failure := range failures {
		count := 0
		for i := range p.ids {
			if p.group[i] == g && p.status[i] == 'F' {
				count++
			}
		}
		errors = append(errors, object{"text": failure[1], "code": failure[0], "count": count})
	}
	return errors
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
