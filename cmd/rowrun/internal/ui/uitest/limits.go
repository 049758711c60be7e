package uitest

import "time"

func (s *Server) limits() []object {
	row := func(name string, kind, queue, path, most, rate, per, burst, until any, taken, waiting int) object {
		return object{
			"name": name, "type": kind, "queue": queue, "key_path": path, "max_running": most, "rate": rate, "per_ms": per, "burst": burst,
			"share": "NONE", "weights": object{}, "not_before": until, "created_at": s.start.Add(-30 * time.Hour), "taken": taken, "waiting": waiting,
		}
	}
	mailer := "mailer"
	if s.options.Hostile {
		mailer = `</title><script>document.title = 'owned'</script><img src=x onerror="document.title = 'owned'">`
	}
	return []object{
		row(mailer, "EMAIL", nil, nil, nil, 100, 60000, 20, nil, 4, 73),
		row("reports", nil, "reports", nil, 3, nil, nil, nil, s.start.Add(2*time.Hour), 3, 12),
		row("tenants", nil, nil, []string{"tenant"}, 5, nil, nil, nil, nil, 31, 1000),
	}
}

func (s *Server) limit(name, key string) any {
	for _, l := range s.limits() {
		if l["name"] != name {
			continue
		}
		keys := []object{{"key": nil, "taken": l["taken"], "waiting": l["waiting"], "tokens": 0.4, "opens_at": s.start.Add(time.Minute), "first_run_id": runPrefix + "700001"}}
		var of any = ""
		if l["key_path"] != nil {
			keys = []object{}
			for i, one := range []string{"acme", "globex", "initech"} {
				keys = append(keys, object{"key": one, "taken": 5 - i, "waiting": 40 - 17*i, "tokens": nil, "opens_at": nil, "first_run_id": runPrefix + "700001"})
			}
			if of = key; key == "" {
				of = nil
			}
		}
		l["keys"], l["of_key"], l["hidden"], l["holding"], l["waiting_runs"] = keys, of, s.options.HideData, []object{}, []object{}
		if of != nil {
			l["holding"], l["waiting_runs"] = s.some('R', 3), s.some('P', 6)
		}
		return l
	}
	return nil
}
