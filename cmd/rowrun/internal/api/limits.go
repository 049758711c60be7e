package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

// limitsLife is for how long limits are not counted again, however many pages ask.
const limitsLife = 2 * time.Second

func (s *server) listLimits(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	if err := query(r).done(); err != nil {
		return nil, err
	}
	all, err := s.limits.get(ctx, s.store.ListLimits)
	return items[store.Limit]{append([]store.Limit{}, all...)}, err
}

// limitPage is a limit with its keys, and with the runs of one of them.
type limitPage struct {
	store.Limit
	Keys []limitKey `json:"keys"`
	// Key is that whose runs are listed; null: of none, as the limit has many.
	Key     *string          `json:"of_key"`
	Holding []store.BoardRun `json:"holding"`
	Runs    []store.BoardRun `json:"waiting_runs"`
	Hidden  bool             `json:"hidden"`
}

type limitKey struct {
	Key      *string    `json:"key"`
	Taken    int64      `json:"taken"`
	Waiting  int64      `json:"waiting"`
	Tokens   *float64   `json:"tokens"`
	OpensAt  *time.Time `json:"opens_at"`
	FirstRun *string    `json:"first_run_id"`
}

func (s *server) getLimit(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	w := query(r)
	of := w.text("key")
	if s.config.HideData && of != "" {
		w.fail("key", "with --ui-hide-data a key", "none: keys come from payloads")
	}
	if err := w.done(); err != nil {
		return nil, err
	}
	name := r.PathValue("id")
	all, err := s.limits.get(ctx, s.store.ListLimits)
	if err != nil {
		return nil, err
	}
	page := limitPage{Keys: []limitKey{}, Holding: []store.BoardRun{}, Runs: []store.BoardRun{}, Hidden: s.config.HideData}
	found := false
	for _, one := range all {
		if one.Name == name {
			page.Limit, found = one, true
		}
	}
	if !found {
		return nil, &problem{http.StatusNotFound, "not_found", "there is no limit " + printable(name), "rowrun limit list"}
	}
	keys, err := s.store.LimitKeys(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		key := limitKey{Key: k.Key, Taken: k.Taken, Waiting: k.Waiting, Tokens: k.Tokens, OpensAt: k.OpensAt}
		if s.config.HideData {
			key.Key = nil
		}
		if k.FirstRun != nil {
			key.FirstRun = some(strconv.FormatInt(*k.FirstRun, 10))
		}
		page.Keys = append(page.Keys, key)
	}
	if page.KeyPath != nil && of == "" {
		return page, nil
	}
	page.Key = &of
	page.Holding, page.Runs, err = s.store.LimitRuns(ctx, name, of)
	s.hideRuns(page.Holding)
	s.hideRuns(page.Runs)
	return page, err
}

// sampleLimits shows those of the named limits that there are.
func (a *API) sampleLimits(ctx context.Context, r *actRequest, p *preview) error {
	all, err := a.store.ListLimits(ctx)
	if err != nil {
		return err
	}
	for _, id := range r.On.IDs {
		for _, one := range all {
			if one.Name == id && (r.Act != "resume" || one.NotBefore != nil) {
				p.Count++
				if len(p.Sample) < previewSample {
					p.Sample = append(p.Sample, sample{ID: id, Name: id})
				}
			}
		}
	}
	return nil
}
