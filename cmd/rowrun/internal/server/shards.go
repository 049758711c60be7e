package server

import (
	"context"
	_ "embed" // the list of shards
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
)

//go:embed shards.html
var listPage string

//go:embed shards.css
var listSheet []byte

// ShardsConfig is what Shards need.
type ShardsConfig struct {
	// Addr is the host:port to listen on. Required; port 0 takes a free one.
	Addr string
	// Names of the shards, in the order in which they are shown. Required.
	Names []string
	// Away says why a shard isn't served that isn't; its text is shown to whoever asks. Required. It must return soon after ctx ends.
	Away func(ctx context.Context, name string) error
	// Metrics answers /metrics. Required.
	Metrics http.Handler
	// Token, Operators and Prefix are those of Config: one session is good for all shards.
	Token     string
	Operators []auth.Operator
	Prefix    string
	// List has a list of the shards served at Prefix.
	List bool
	// Log gets one line when the server starts and what goes wrong in it.
	Log zerolog.Logger
}

// Shards answers HTTP requests for the replicas of one process, each below Prefix/shards/NAME/.
type Shards struct {
	*listening
	config ShardsConfig
	guard  *auth.Guard
	list   *template.Template
	served map[string]*atomic.Pointer[Surface]
}

// NewShards checks the configuration and binds the address. Run serves and closes it.
func NewShards(config ShardsConfig) (*Shards, error) {
	if len(config.Names) == 0 || config.Away == nil || config.Metrics == nil {
		return nil, errors.New("shards need names, what says why one is away, and metrics")
	}
	list, err := template.New("shards.html").Parse(listPage)
	if err != nil {
		return nil, fmt.Errorf("read the list of shards: %w", err)
	}
	l, err := listen(config.Addr, config.Log)
	if err != nil {
		return nil, err
	}
	s := &Shards{
		listening: l, config: config, list: list, served: map[string]*atomic.Pointer[Surface]{},
		guard: auth.New(auth.Config{
			Read: config.Token, Operators: config.Operators, Loopback: l.onLoopback(), Path: config.Prefix + "/",
			Deployment: "shards " + strings.Join(config.Names, " "),
		}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", live)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", config.Metrics)
	for _, name := range config.Names {
		s.served[name] = &atomic.Pointer[Surface]{}
		below := config.Prefix + "/shards/" + name
		mux.Handle(below+"/", http.StripPrefix(below, s.shard(name)))
	}
	if config.List {
		mux.HandleFunc("GET "+config.Prefix+"/{$}", s.page)
		mux.HandleFunc("GET "+config.Prefix+"/shards/list.css", sheet)
		mux.Handle("GET "+config.Prefix+"/api/v1/shards", s.guard.Protect(http.HandlerFunc(s.json)))
	}
	l.http.Handler = mux
	return s, nil
}

// Guard judges the requests of all shards.
func (s *Shards) Guard() *auth.Guard { return s.guard }

// Serve has a shard answered by its replica; nil: there is none now.
func (s *Shards) Serve(name string, surface *Surface) { s.served[name].Store(surface) }

// Run serves until ctx ends; requests under way then have two seconds.
func (s *Shards) Run(ctx context.Context) error {
	s.started()
	return s.run(ctx)
}

// shard is what answers for one of them.
func (s *Shards) shard(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if surface := s.served[name].Load(); surface != nil {
			surface.ServeHTTP(w, r)
			return
		}
		if refusal := s.guard.Page(r); refusal != nil {
			http.Error(w, refusal.Message+": "+refusal.Hint, refusal.Status)
			return
		}
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "shard "+name+" is not served now: /readyz says why", http.StatusServiceUnavailable)
	})
}

// answers asks every shard whether it is ready, all at once.
func (s *Shards) answers(ctx context.Context) map[string]answer {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	var mu sync.Mutex
	all := make(map[string]answer, len(s.config.Names))
	var asking sync.WaitGroup
	for _, name := range s.config.Names {
		asking.Go(func() {
			one := s.answer(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			all[name] = one
		})
	}
	asking.Wait()
	return all
}

func (s *Shards) answer(ctx context.Context, name string) answer {
	if surface := s.served[name].Load(); surface != nil {
		return surface.ready.now(ctx)
	}
	text := "is starting"
	if err := s.config.Away(ctx, name); err != nil {
		text = err.Error()
	}
	return answer{Status: "unavailable", Checks: map[string]result{"start": {Error: text}}}
}

// ready is 200 if every shard is ready; a check is named SHARD/CHECK.
func (s *Shards) ready(w http.ResponseWriter, r *http.Request) {
	now := answer{Status: "ok", Checks: map[string]result{}}
	for name, one := range s.answers(r.Context()) {
		if one.Status != "ok" {
			now.Status = "unavailable"
		}
		for check, found := range one.Checks {
			now.Checks[name+"/"+check] = found
		}
	}
	tellReady(w, now)
}

// listed is a shard as the list shows it.
type listed struct {
	Name    string            `json:"name"`
	Path    string            `json:"path"`
	Ready   bool              `json:"ready"`
	Trouble map[string]string `json:"trouble,omitempty"` // by the name of a check that isn't met
}

func (s *Shards) listed(ctx context.Context) []listed {
	answers := s.answers(ctx)
	all := make([]listed, 0, len(s.config.Names))
	for _, name := range s.config.Names {
		one := listed{Name: name, Path: "shards/" + name + "/", Ready: answers[name].Status == "ok"}
		for check, found := range answers[name].Checks {
			if !found.OK {
				if one.Trouble == nil {
					one.Trouble = map[string]string{}
				}
				one.Trouble[check] = found.Error
			}
		}
		all = append(all, one)
	}
	return all
}

func (s *Shards) json(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{"shards": s.listed(r.Context())}) // whoever asked has gone
}

// page shows the shards. Whoever may not read sees their names, to sign in at one of them.
func (s *Shards) page(w http.ResponseWriter, r *http.Request) {
	if refusal := s.guard.Page(r); refusal != nil {
		http.Error(w, refusal.Message+": "+refusal.Hint, refusal.Status)
		return
	}
	shown := struct {
		Told   bool
		Shards []listed
	}{}
	if _, refusal := s.guard.Read(r); refusal == nil {
		shown.Told, shown.Shards = true, s.listed(r.Context())
	} else {
		for _, name := range s.config.Names {
			shown.Shards = append(shown.Shards, listed{Name: name, Path: "shards/" + name + "/"})
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	_ = s.list.Execute(w, shown) // whoever asked has gone
}

func sheet(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(listSheet)
}
