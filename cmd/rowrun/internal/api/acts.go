package api

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

// maxTargets is how many ids an act names at most.
const maxTargets = 1000

// actRequest is what is asked for.
type actRequest struct {
	RequestID string `json:"request_id"`
	Act       string `json:"act"`
	On        struct {
		Kind   string            `json:"kind"`
		IDs    []string          `json:"ids"`
		Filter map[string]string `json:"filter"`
	} `json:"on"`
	Args struct {
		Reason string          `json:"reason,omitempty"`
		Limit  json.RawMessage `json:"limit,omitempty"` // as it was sent: null is none, and what is missing is not
		Until  string          `json:"until,omitempty"`
		RunAt  string          `json:"run_at,omitempty"`
		Wave   *int            `json:"wave,omitempty"`
	} `json:"args"`
	Preview bool `json:"preview"`
}

// verbs are the acts of each kind.
func verbs() map[string][]string {
	return map[string][]string{
		"run":      {"retry", "cancel", "abandon"},
		"task":     {"run", "retry", "cancel", "skip", "unskip", "pause", "resume"},
		"plan":     {"run", "retry", "cancel", "pause", "resume", "limit", "resume_wave", "roll_on", "give_up"},
		"delivery": {"redeliver"},
		"replica":  {"pause", "resume", "drain"},
		"webhook":  {"test"},
		"limit":    {"limit", "pause", "resume", "delete"},
	}
}

// check refuses what can't be done, whatever the database holds.
func (a *actRequest) check() error {
	known, ok := verbs()[a.On.Kind]
	switch {
	case !ok:
		return bad("on.kind: "+printable(a.On.Kind)+" is not accepted", "Accepted: run, task, plan, delivery, replica, webhook, limit.")
	case !slices.Contains(known, a.Act):
		return bad(fmt.Sprintf("act: %s is no act of a %s", printable(a.Act), a.On.Kind), "GET /api/v1/openapi.json says which there are.")
	case !a.Preview && new(pgtype.UUID).Scan(a.RequestID) != nil:
		return bad("request_id is no uuid", "A random one for each confirmation, and the same when it is sent again.")
	case (a.On.IDs == nil) == (a.On.Filter == nil):
		return bad("on: either ids or filter", "ids are 1 to 1000 texts; filter has the words of the list of that kind.")
	case a.On.Filter != nil && (a.ofWaves() || slices.Contains([]string{"replica", "webhook", "limit"}, a.On.Kind)):
		return bad(fmt.Sprintf("%s of a %s is by ids", a.Act, a.On.Kind), "Give ids.")
	case len(a.Args.Reason) > 2000:
		return bad("args.reason has more than 2,000 bytes", "Say it shorter.")
	case a.Act == "abandon" && a.Args.Reason == "" && !a.Preview:
		return bad("args.reason: abandon needs one", "Say why the run is given up: it stands in its result.")
	}
	if err := a.checkLimit(); err != nil {
		return err
	}
	if err := a.checkRunAt(); err != nil {
		return err
	}
	if err := a.checkWave(); err != nil {
		return err
	}
	if a.On.Filter != nil {
		return nil
	}
	return a.checkIDs()
}

// checkLimit refuses what no limit may be.
func (a *actRequest) checkLimit() error {
	least := 1
	if a.On.Kind == "limit" {
		least = 0
	}
	accepted := fmt.Sprintf("Accepted: %d to 2147483647, or null for none.", least)
	if a.Act == "limit" && a.Args.Limit == nil && !a.Preview {
		return bad("args.limit: needed to limit a "+a.On.Kind, accepted)
	}
	var limit *int
	if a.Args.Limit != nil && json.Unmarshal(a.Args.Limit, &limit) != nil || limit != nil && (*limit < least || *limit > math.MaxInt32) {
		return bad("args.limit is not accepted", accepted)
	}
	if a.On.Kind != "limit" || a.Act != "pause" || a.Preview && a.Args.Until == "" {
		return nil
	}
	if a.Args.Until == "" {
		return bad("args.until: needed to pause a limit", acceptedMoment)
	}
	return checkMoment("args.until", a.Args.Until)
}

// checkRunAt refuses what is no moment of a run.
func (a *actRequest) checkRunAt() error {
	if a.Args.RunAt != "" && (a.On.Kind != "task" || a.Act != "run") {
		return bad("args.run_at is not accepted", "It is of run on tasks.")
	}
	return checkMoment("args.run_at", a.Args.RunAt)
}

// checkWave refuses what is no wave.
func (a *actRequest) checkWave() error {
	switch {
	case a.Args.Wave == nil:
		return nil
	case a.Act != "roll_on":
		return bad("args.wave is not accepted", "It is of roll_on.")
	case *a.Args.Wave < 1 || *a.Args.Wave > math.MaxInt32:
		return bad("args.wave is not accepted", "Accepted: the number of the wave that is opened, from 1.")
	}
	return nil
}

// ofWaves says that the act is on what a plan's waves have begun.
func (a *actRequest) ofWaves() bool {
	return a.On.Kind == "plan" && slices.Contains([]string{"resume_wave", "roll_on", "give_up"}, a.Act)
}

const acceptedMoment = "Accepted: a moment such as 2026-11-23T18:00:00Z."

// checkMoment refuses what is no moment; "" is none.
func checkMoment(name, value string) error {
	if value == "" {
		return nil
	}
	if at, err := time.Parse(time.RFC3339, value); err != nil || at.Year() < 1900 || at.Year() > 9998 {
		return bad(name+": "+printable(value)+" is not accepted", acceptedMoment)
	}
	return nil
}

// byName says that what the act is on is named, and has no number.
func (a *actRequest) byName() bool { return a.On.Kind == "replica" || a.On.Kind == "limit" }

func (a *actRequest) checkIDs() error {
	most := maxTargets
	if a.Act == "test" {
		most = 1
	}
	if len(a.On.IDs) == 0 || len(a.On.IDs) > most {
		return bad(fmt.Sprintf("on.ids: %d are not accepted", len(a.On.IDs)), fmt.Sprintf("Accepted: 1 to %d.", most))
	}
	var ids []string
	for _, id := range a.On.IDs {
		if _, ok := parseID(id); !ok && !a.byName() || id == "" || len(id) > 200 {
			return bad("on.ids: "+printable(id)+" is not accepted", "Ids are numbers, as texts.")
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if a.On.Kind == "limit" {
		slices.Sort(ids)
	}
	if !a.byName() { // the order of locks
		slices.SortFunc(ids, func(x, y string) int {
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			return slices.Compare([]byte(x), []byte(y))
		})
	}
	a.On.IDs = ids
	return nil
}

// act is an act as it is answered.
type act struct {
	store.Act
	May mayStop `json:"may"`
}

type mayStop struct {
	Stop bool `json:"stop"`
}

func (s *server) shown(ctx context.Context, who auth.Who, a store.Act) act {
	return act{a, mayStop{a.State == "RUNNING" && s.mayAct(ctx, who)}}
}

// actPatience is how long a request waits for its act to end; then whoever asked looks at GET acts/{id}.
const actPatience = 2 * time.Second

func (s *server) postAct(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	var request actRequest
	if err := readBody(nil, r, &request); err != nil {
		return nil, err
	}
	if err := request.check(); err != nil {
		return nil, err
	}
	search, none, err := s.searchOf(ctx, &request)
	if err != nil {
		return nil, err
	}
	if request.Preview {
		return s.preview(ctx, &request, search, none)
	}
	if request.Act == "test" && s.config.Test == nil {
		return nil, &problem{http.StatusForbidden, "forbidden", "webhooks aren't tested from here", "rowrun webhook test"}
	}
	asked := store.NewAct{RequestID: request.RequestID, Verb: request.Act, Kind: request.On.Kind, By: who.Name, Targets: request.On.IDs, Search: search}
	if asked.Args, err = json.Marshal(request.Args); err != nil {
		return nil, err
	}
	n := len(request.On.IDs)
	if request.On.Filter != nil {
		if asked.Filter, err = json.Marshal(request.On.Filter); err != nil {
			return nil, err
		}
		if n, asked.Capped, err = s.count(ctx, request.On.Kind, search, none); err != nil {
			return nil, err
		}
	}
	asked.Count = &n
	return s.begin(ctx, who, asked)
}

// begin does what was asked, unless it was before.
func (s *server) begin(ctx context.Context, who auth.Who, asked store.NewAct) (any, error) {
	begun, made, err := s.store.BeginAct(ctx, asked)
	if err != nil {
		return nil, err
	}
	if made && asked.Verb == "test" {
		if err := s.test(ctx, begun); err != nil {
			return nil, err
		}
	}
	patience, cancel := context.WithTimeout(ctx, actPatience)
	defer cancel()
	for more := begun.State == "RUNNING" && made && asked.Verb != "test"; more && patience.Err() == nil; {
		if more, err = s.store.StepAct(patience, begun.ID); err != nil {
			break // it is gone on with
		}
	}
	s.goOn()
	s.grids.forget()
	s.limits.forget()
	if begun, err = s.store.FindAct(ctx, begun.ID); err != nil {
		return nil, err
	}
	return s.shown(ctx, who, begun), nil
}

// test sends a sample; how that went is what the act did.
func (s *server) test(ctx context.Context, a store.Act) error {
	id, err := strconv.ParseInt(a.Targets[0], 10, 64)
	if err != nil {
		return err
	}
	problem, err := s.config.Test(ctx, id)
	if err != nil {
		problem = inWords(err).message
	}
	return s.store.EndTest(context.WithoutCancel(ctx), a.ID, problem)
}

func (s *server) listActs(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	w := query(r)
	state := w.choice("state", "RUNNING", "DONE", "STOPPED")
	p := w.page()
	if err := w.done(); err != nil {
		return nil, err
	}
	found, err := s.store.ListActs(ctx, state, p)
	if err != nil {
		return nil, err
	}
	all := make([]act, 0, len(found))
	for _, a := range found {
		all = append(all, s.shown(ctx, who, a))
	}
	return paged(all, p.Limit, func(a act) int64 { return a.ID }), nil
}

func (s *server) getAct(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	id, err := pathID(r)
	if err == nil {
		err = query(r).done()
	}
	if err != nil {
		return nil, err
	}
	found, err := s.store.FindAct(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, who, found), nil
}

func (s *server) stopAct(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	if err := s.store.StopAct(ctx, id, who.Name); err != nil {
		return nil, err
	}
	found, err := s.store.FindAct(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, who, found), nil
}
