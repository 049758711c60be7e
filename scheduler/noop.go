package scheduler

import (
	"context"
	"encoding/json"
	"time"
)

// Noop runs tasks of type NOOP: they wait, then end well or fail as their payload says. For trying out and measuring.
type Noop struct{}

// Execute sleeps for the payload's "sleep" (a Go duration, default none) and fails with "fail" where that isn't empty.
func (Noop) Execute(ctx context.Context, run *Run) (Result, error) {
	if string(run.Payload) == "{}" {
		return Result{}, nil
	}
	var p struct {
		Sleep string `json:"sleep"`
		Fail  string `json:"fail"`
	}
	if err := json.Unmarshal(run.Payload, &p); err != nil {
		return Result{}, BadInput(`the payload of NOOP is {"sleep": "100ms", "fail": "text"}, both optional and both text`)
	}
	if p.Sleep != "" {
		d, err := time.ParseDuration(p.Sleep)
		if err != nil || d < 0 {
			return Result{}, BadInput(`"sleep": %q is not a duration such as "100ms", "5s" or "1h30m"`, p.Sleep)
		}
		sleep(ctx, d)
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
	}
	if p.Fail != "" {
		return Result{}, &Failure{Code: CodeError, Detail: p.Fail, Retryable: true}
	}
	return Result{}, nil
}
