package api

import (
	"fmt"
	"time"

	"github.com/rowrun/rowrun/store"
)

// finding is something that somebody should look at, or that all is well.
type finding struct {
	Check    string  `json:"check"`
	Severity string  `json:"severity"` // ok, warn or error
	Message  string  `json:"message"`
	Fix      *string `json:"fix"` // a command
}

// From when on waiting is worth a word.
const (
	overdueWorry  = 30 * time.Second
	deliveryWorry = 5 * time.Minute
)

// findings are what the overview's figures say is wrong: `rowrun doctor` looks at settings and rights besides.
func findings(o *overview, h store.Health) []finding {
	all := []finding{}
	add := func(bad bool, check, severity, message, fix string) {
		if bad {
			all = append(all, finding{check, severity, message, &fix})
		}
	}
	add(h.LiveReplicas == 0, "replicas", "error", "no replica lives: nothing is promoted or run", "rowrun serve")
	add(o.Stale > 0, "replicas", "warn", fmt.Sprintf("%d replicas are silent for longer than their lease", o.Stale), "rowrun replica list")
	add(h.OverdueFor > overdueWorry, "promotion", "error", fmt.Sprintf("runs have been due for %s and nobody has looked at them", h.OverdueFor.Round(time.Second)), "rowrun doctor")
	add(h.OrphanTypes > 0, "types", "warn", fmt.Sprintf("runs of %d types wait that no live replica runs", h.OrphanTypes), "rowrun type list")
	add(h.StoppedSchedules > 0, "schedules", "warn", fmt.Sprintf("%d schedules were paused as they can't be followed", h.StoppedSchedules), "rowrun schedule list")
	add(h.NotifyQueue >= store.NotifyQueueLimit, "notifications", "error", fmt.Sprintf("the server's notification queue is %.0f %% full: some session that listens has an open transaction", h.NotifyQueue*100), "rowrun doctor")
	add(h.SlotLag != nil && *h.SlotLag > 1<<30, "stream", "warn", "the replication slot is more than 1 GiB behind", "rowrun doctor")
	var oldest time.Duration
	for _, age := range h.OldestDelivery {
		oldest = max(oldest, age)
	}
	add(oldest > deliveryWorry, "webhooks", "warn", fmt.Sprintf("a delivery has been waiting for %s", oldest.Round(time.Second)), "rowrun webhook deliveries")
	var paused int
	for _, r := range o.Replicas {
		if r.Live && r.PausedAt != nil {
			paused++
		}
	}
	add(paused > 0, "replicas", "warn", fmt.Sprintf("%d live replicas are paused: they claim nothing", paused), "rowrun replica list")
	for _, w := range o.worries {
		add(w.Serious(), "limits", "warn", w.Text(), w.Fix())
	}
	if len(all) == 0 {
		all = append(all, finding{"all", "ok", "nothing to worry about", nil})
	}
	return all
}
