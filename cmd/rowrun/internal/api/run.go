package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

// runPage is a run with all that its page shows.
type runPage struct {
	store.BoardRunDetails
	Chain    []store.BoardRun `json:"chain"`
	Waiting  []waiting        `json:"waiting"`
	Gates    []gate           `json:"gates"`
	Timeline []phase          `json:"timeline"`
	Log      logPage          `json:"log"`
	SQL      string           `json:"sql"`
	Command  string           `json:"command"`
	Hidden   bool             `json:"hidden"`
	May      mayRun           `json:"may"`
}

type mayRun struct {
	Retry   bool `json:"retry"`
	Cancel  bool `json:"cancel"`
	Abandon bool `json:"abandon"`
}

// waiting is a cause that holds.
type waiting struct {
	Cause   string          `json:"cause"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

// gate is what one of them asks of a run.
type gate struct {
	Gate    string `json:"gate"`
	Term    string `json:"term"`
	Matched *bool  `json:"matched"` // nil: it isn't asked
	Message string `json:"message"`
}

func (s *server) getRun(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	id, err := pathID(r)
	if err == nil {
		err = query(r).done()
	}
	if err != nil {
		return nil, err
	}
	found, err := s.store.FindBoardRun(ctx, id)
	if err != nil {
		return nil, err
	}
	page := runPage{BoardRunDetails: found, Waiting: []waiting{}, Hidden: s.config.HideData}
	if page.Chain, err = s.store.BoardChain(ctx, id); err != nil {
		return nil, err
	}
	if found.Status == "PENDING" || found.Status == "AVAILABLE" {
		causes, err := s.store.Waiting(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, c := range causes {
			if s.config.HideData {
				hideKey(&c)
			}
			page.Waiting = append(page.Waiting, waiting{c.Cause, c.Message, idsAsTexts(c.Detail)})
		}
	}
	unfinished := found.EndedAt == nil
	if page.Log, err = s.logOf(ctx, id, 0, maxLimit, unfinished); err != nil {
		return nil, err
	}
	page.Gates = gatesOf(&found, page.Waiting)
	if page.Timeline, err = s.timeline(ctx, &found, page.Waiting); err != nil {
		return nil, err
	}
	if s.mayAct(ctx, who) {
		page.May = mayRun{
			Retry:   (found.Status == "FAILED" || found.Status == "CANCELED") && found.RetryRunID == nil && found.Terms.Newest && !found.Terms.TaskSkipped,
			Cancel:  unfinished && !found.CancelRequested,
			Abandon: found.Status == "RUNNING",
		}
	}
	if found.WholeDetail != nil {
		page.Detail = found.WholeDetail
	}
	if s.config.HideData {
		page.Payload, page.Input, page.Result, page.Progress, page.Detail, page.BoardRun.Progress = nil, nil, nil, nil, nil, nil
		s.hideRuns(page.Chain)
	}
	page.SQL, page.Command = again(&page.BoardRunDetails)
	return page, nil
}

// gatesOf says what each gate asks of a run, in the order in which they are asked, and whether it is open.
func gatesOf(r *store.BoardRunDetails, held []waiting) []gate {
	t := &r.Terms
	var gates []gate
	add := func(name, term string, asked bool) {
		g := gate{Gate: name, Term: term}
		for _, w := range held {
			if w.Cause == name {
				g.Message = w.Message
			}
		}
		if asked && (r.Status == "PENDING" || r.Available != nil) {
			open := r.Available != nil || g.Message == ""
			g.Matched = &open
		}
		gates = append(gates, g)
	}
	database, version := text(r.DatabaseID), text(r.Version)
	limited := t.ParallelLimit != nil
	add("RUN_AT", "not before "+r.RunAt.Format("2006-01-02T15:04:05Z"), true)
	ask := func(name, term, missing string, asked bool) {
		if !asked {
			term = missing
		}
		add(name, term, asked)
	}
	ask("VERSION", fmt.Sprintf("no version below %s is unfinished on %s", version, database), "no version on a database", r.DatabaseID != nil && r.Version != nil)
	alone := "no sequential run is under way on " + database
	if t.Sequential {
		alone = "no other run is under way on " + database
	}
	ask("DATABASE_BUSY", alone, "no database", r.DatabaseID != nil)
	limit := "no limit"
	if limited {
		limit = fmt.Sprintf("fewer than %d runs of the plan are AVAILABLE or RUNNING", *t.ParallelLimit)
	}
	add("PLAN_LIMIT", limit, limited)
	needed := fmt.Sprintf("%d tasks are DONE or SKIPPED", t.Dependencies)
	if t.Jobs > 0 {
		needed += fmt.Sprintf(", and %d other jobs DONE", t.Jobs)
	}
	ask("DEPENDENCY", needed, "it depends on nothing", t.Dependencies+t.Jobs > 0)
	add("PAUSED", "neither the plan nor the task is paused", true)
	ask("PLAN_FAILED", "nothing of the plan that failed holds it back ("+text(t.OnFailure)+")", "no plan", r.PlanID != nil)
	if holds := func(cause string) bool {
		return slices.ContainsFunc(held, func(w waiting) bool { return w.Cause == cause })
	}; len(r.Limits) > 0 || holds("LIMIT") || holds("RATE_LIMIT") {
		names := strings.Join(r.Limits, ", ")
		add("LIMIT", "there is a place of each of its limits: "+names, true)
		add("RATE_LIMIT", "there is a token of each of its limits with a rate: "+names, true)
	}
	add("NO_REPLICA", "a live replica can run it", r.DatabaseID != nil || limited || len(r.Limits) > 0)
	return gates
}

// hideKey takes the key of a limit, which stands in the payload, out of why a run waits.
func hideKey(c *store.Cause) {
	var detail map[string]json.RawMessage
	if c.Cause != "LIMIT" && c.Cause != "RATE_LIMIT" || json.Unmarshal(c.Detail, &detail) != nil {
		return
	}
	var key *string
	if json.Unmarshal(detail["key"], &key) != nil || key == nil {
		return
	}
	delete(detail, "key")
	if shown := []rune(*key); len(shown) > 0 {
		c.Message = strings.Replace(c.Message, " of "+string(shown[:min(len(shown), 100)]), "", 1)
	}
	if text, err := json.Marshal(detail); err == nil {
		c.Detail = text
	}
}

// again is how to do once more what a run does, as a statement and as a command line.
func again(r *store.BoardRunDetails) (sql, command string) {
	id := strconv.FormatInt(r.TaskID, 10)
	if r.PlanID != nil {
		return "SELECT rowrun.run_tasks('{" + id + "}');", "rowrun run retry " + strconv.FormatInt(r.ID, 10)
	}
	sql, command = "SELECT rowrun.run_task("+id, "rowrun run create "+id
	if input := string(bytes.TrimSpace(r.Input)); input != "" && input != "{}" {
		sql += ", input => " + literal(input) + "::jsonb"
		command += " --input " + "'" + strings.ReplaceAll(input, "'", `'\''`) + "'"
	}
	return sql + ");", command
}

// literal is a text as SQL takes it, whatever standard_conforming_strings says.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// idsAsTexts writes the ids in a document as texts: 64 bits are more than a browser's numbers hold.
func idsAsTexts(document json.RawMessage) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return document
	}
	out, err := json.Marshal(withTexts(value, false))
	if err != nil {
		return document
	}
	return out
}

func withTexts(value any, id bool) any {
	switch v := value.(type) {
	case json.Number:
		if id {
			return v.String()
		}
	case []any:
		for i := range v {
			v[i] = withTexts(v[i], id)
		}
	case map[string]any:
		for name := range v {
			v[name] = withTexts(v[name], name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ids") || name == "runs" || name == "tasks")
		}
	}
	return value
}
