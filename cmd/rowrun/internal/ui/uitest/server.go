package uitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
)

// Options are what a deployment may be set up with.
type Options struct {
	// Token is what POST session wants; "": nothing is asked for.
	Token string
	// NeedsToken: nothing but the session is answered before it was given.
	NeedsToken bool
	// ReadOnly: nobody may act.
	ReadOnly bool
	// HideData: no payload, input, result, log and detail.
	HideData bool
	// Rate is how many transitions a second /events tells; 0: none.
	Rate int
	// Hostile: names and texts as somebody who means harm would choose them.
	Hostile bool
	// Recovery: a recovery from an outage is under way.
	Recovery bool
	// Slow: acts go on until EndActs.
	Slow bool
	// Shown is how many tasks of a plan are shown; 0: all.
	Shown int
}

// Server answers /api/v1 and /events.
type Server struct {
	http.Handler
	options Options
	start   time.Time

	mu       sync.Mutex
	signedIn bool
	plans    []*plan
	acts     []map[string]any
	byID     map[string]map[string]any // acts by request id
	asked    map[string]int            // requests by path
	readers  map[chan string]bool
	position int
	refuse   bool           // /events answers 503
	away     map[string]int // how many requests by path get no answer, the next ones
}

// New makes up a deployment.
func New(options Options) *Server {
	s := &Server{options: options, start: time.Now().UTC().Truncate(time.Second), byID: map[string]map[string]any{}, acts: []map[string]any{}, asked: map[string]int{}, away: map[string]int{}, readers: map[chan string]bool{}}
	s.signedIn = options.Token == ""
	s.plans = makePlans(s.start, options.Hostile)
	mux := http.NewServeMux()
	read := func(path string, answer func(r *http.Request) any) {
		mux.HandleFunc("GET /api/v1/"+path, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.asked[path]++
			barred := s.options.NeedsToken && !s.signedIn && path != "session"
			away := s.isAway(path)
			var value any
			if !barred && !away {
				value = answer(r)
			}
			s.mu.Unlock()
			switch {
			case away:
				refuse(w, http.StatusServiceUnavailable, "unavailable", "the database did not answer in time", "")
			case barred:
				refuse(w, http.StatusUnauthorized, "unauthorized", "no token", "sign in")
			case value == nil:
				refuse(w, http.StatusNotFound, "not_found", "there is no such thing", "")
			default:
				write(w, http.StatusOK, value)
			}
		})
	}
	read("session", func(*http.Request) any { return s.session() })
	read("overview", func(r *http.Request) any { return s.overview() })
	read("plans", func(r *http.Request) any { return s.planList(r) })
	read("plans/{id}", func(r *http.Request) any { return s.planDetails(r.PathValue("id")) })
	read("plans/{id}/grid", func(r *http.Request) any { return s.grid(r.PathValue("id"), r.URL.Query().Get("since")) })
	read("plans/{id}/edges", func(r *http.Request) any { return s.edges(r.PathValue("id"), r.URL.Query().Get("task")) })
	read("plans/{id}/transitions", func(r *http.Request) any { return s.transitions(r.PathValue("id")) })
	read("plans/{id}/preview", func(r *http.Request) any { return s.preview(r.PathValue("id")) })
	read("runs", func(r *http.Request) any { return s.runList(r) })
	read("runs/{id}", func(r *http.Request) any { return s.runDetails(r.PathValue("id")) })
	read("runs/{id}/log", func(r *http.Request) any { return object{"items": []any{}, "next": nil} })
	read("tasks", func(r *http.Request) any { return s.taskList(r) })
	read("tasks/{id}", func(r *http.Request) any { return s.taskDetails(r.PathValue("id")) })
	read("types", func(*http.Request) any { return s.types() })
	read("schedules", func(*http.Request) any { return object{"items": s.schedules(), "next": nil} })
	read("webhooks", func(*http.Request) any { return object{"items": s.webhooks(), "next": nil} })
	read("webhooks/{id}", func(*http.Request) any { return s.webhooks()[0] })
	read("deliveries", func(r *http.Request) any { return object{"items": s.deliveries(), "next": nil} })
	read("deliveries/{id}", func(r *http.Request) any { return s.delivery() })
	read("replicas", func(*http.Request) any { return object{"items": s.replicas()} })
	read("limits", func(*http.Request) any { return object{"items": s.limits()} })
	read("limits/{id}", func(r *http.Request) any { return s.limit(r.PathValue("id"), r.URL.Query().Get("key")) })
	read("doctor", func(*http.Request) any { return object{"items": s.findings()} })
	read("acts", func(*http.Request) any { return object{"items": s.acts, "next": nil} })
	read("acts/{id}", func(r *http.Request) any { return s.act(r.PathValue("id")) })
	mux.HandleFunc("POST /api/v1/session", s.signIn)
	mux.HandleFunc("DELETE /api/v1/session", s.signOut)
	mux.HandleFunc("POST /api/v1/acts", s.postAct)
	mux.HandleFunc("POST /api/v1/acts/{id}/stop", s.stopAct)
	mux.HandleFunc("GET /events", s.events)
	s.Handler = mux
	return s
}

// Asked is how often a path was asked for, as "plans/{id}/grid".
func (s *Server) Asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// Acts is how many acts were done.
func (s *Server) Acts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acts)
}

type object = map[string]any

func write(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}

func refuse(w http.ResponseWriter, code int, name, message, hint string) {
	write(w, code, object{"error": object{"code": name, "message": message, "hint": hint}})
}

func (s *Server) mayAct() bool {
	return !s.options.ReadOnly && s.signedIn
}

func (s *Server) session() any {
	var looks []object
	for _, l := range statuses.All() {
		looks = append(looks, object{"status": l.Status, "name": l.Name, "icon": l.Icon, "color": l.Color})
	}
	var as any
	if s.options.Token != "" && s.signedIn {
		as = "ana"
	}
	ui := "on"
	if s.options.ReadOnly {
		ui = "read-only"
	}
	return object{
		"version": "v0.2.0", "deployment": "5b1a8c52-8f66-4f07-9d3e-1f6f5a3f1c11", "replica": "rowrun-0", "ui": ui,
		"signed_in": as != nil, "as": as, "acts": s.mayAct(), "needs_token": s.options.NeedsToken && !s.signedIn,
		"can_sign_in": s.options.Token != "" && !s.options.ReadOnly, "hide_data": s.options.HideData, "role": "rowrun_replica",
		"may": object{"author": true, "operator": true}, "time_zone": "UTC", "statuses": looks,
	}
}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Token string `json:"token"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Token != s.options.Token {
		refuse(w, http.StatusUnauthorized, "unauthorized", "the token is wrong", "ask whoever started the replica")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signedIn = true
	write(w, http.StatusOK, s.session())
}

func (s *Server) signOut(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signedIn = s.options.Token == ""
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) act(id string) any {
	for _, act := range s.acts {
		if act["act_id"] == id {
			return act
		}
	}
	return nil
}

func (s *Server) postAct(w http.ResponseWriter, r *http.Request) {
	var body struct {
		RequestID string         `json:"request_id"`
		Act       string         `json:"act"`
		On        map[string]any `json:"on"`
		Args      map[string]any `json:"args"`
		Preview   bool           `json:"preview"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", err.Error(), "")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mayAct() {
		refuse(w, http.StatusForbidden, "forbidden", "this session only reads", "sign in with an operator's token")
		return
	}
	ids, _ := body.On["ids"].([]any)
	if body.On["filter"] != nil {
		ids = make([]any, 4312)
		for i := range ids {
			ids[i] = strconv.Itoa(9007199254740993 + i)
		}
	}
	if body.Preview {
		sample := []object{}
		for _, id := range ids[:min(len(ids), 20)] {
			sample = append(sample, object{"id": id, "name": s.nameOf(id), "status": "FAILED"})
		}
		count := len(ids)
		if body.Act == "retry" && body.On["kind"] == "plan" && count == 1 {
			id, _ := ids[0].(string)
			count = s.plan(id).counts()["FAILED"]
		}
		write(w, http.StatusOK, object{"count": count, "capped": len(ids) > 10000, "sample": sample, "says": object{"key": body.Act, "text": body.Act + " it"}})
		return
	}
	act := s.byID[body.RequestID]
	if act == nil {
		act = s.begin(body.RequestID, body.Act, body.On, body.Args, ids)
	}
	switch {
	case fmt.Sprint(act["args"]) != fmt.Sprint(body.Args):
		refuse(w, http.StatusConflict, "conflict", "this request_id was used for another act", "")
	case s.isAway("acts"): // done, and nobody is told
		refuse(w, http.StatusServiceUnavailable, "unavailable", "the database did not answer in time", "")
	default:
		write(w, http.StatusOK, act)
	}
}

// begin does an act and keeps it. s.mu is held.
func (s *Server) begin(requestID, verb string, on, args map[string]any, ids []any) object {
	s.perform(verb, on, ids)
	act := object{
		"act_id": strconv.Itoa(len(s.acts) + 1), "request_id": requestID, "act": verb, "kind": on["kind"], "by": "ana",
		"at": time.Now().UTC(), "ended_at": time.Now().UTC(), "filter": on["filter"], "ids": on["ids"], "args": args, "count": len(ids), "capped": false,
		"done": len(ids), "unchanged": 0, "failed_count": 0, "failed": []any{}, "made": []any{}, "state": "DONE", "stopped_by": nil, "may": object{"stop": false},
	}
	if s.options.Slow {
		act["state"], act["ended_at"], act["done"] = "RUNNING", nil, 0
	}
	s.byID[requestID] = act
	s.acts = append([]map[string]any{act}, s.acts...)
	return act
}

func (s *Server) nameOf(id any) string {
	text, _ := id.(string)
	if p, i := s.taskOf(text); p != nil {
		return p.names[i]
	}
	return "#" + text
}

// perform lets a retry, a run, a skip, a cancel and a pause show.
func (s *Server) perform(act string, on map[string]any, ids []any) {
	for _, id := range ids {
		text, _ := id.(string)
		if on["kind"] == "plan" {
			if p := s.plan(text); p != nil {
				p.act(act)
			}
			continue
		}
		if on["kind"] == "run" {
			text = strings.TrimPrefix(text, runPrefix)
		}
		if p, i := s.taskOf(text); p != nil {
			p.change(i, act)
		}
	}
}

func (s *Server) stopAct(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	act, _ := s.act(r.PathValue("id")).(object)
	if act == nil {
		refuse(w, http.StatusNotFound, "not_found", "there is no such act", "")
		return
	}
	act["state"] = "STOPPED"
	write(w, http.StatusOK, act)
}
