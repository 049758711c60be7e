package chaos_test

import (
	"slices"
	"time"
)

// checkOverlap: what a replica had when it lost contact it has stopped before somebody else does it again. One that is frozen
// can't.
func (r *rig) checkOverlap(j *judge, runs map[int64]*past) {
	of := map[string]*process{}
	for _, p := range r.all {
		for _, id := range p.ids() {
			of[id] = p
		}
	}
	chains := map[string][]*call{}
	for _, c := range r.ledger.calls {
		if c.key != "" && runs[c.run] != nil {
			chains[c.key] = append(chains[c.key], c)
		}
	}
	for key, calls := range chains {
		for i, c := range calls[1:] {
			before := calls[i]
			if c.run == before.run {
				continue
			}
			late := before.span.to.Sub(c.span.from)
			frozen := false
			if p := of[runs[before.run].replica]; p != nil {
				frozen = slices.ContainsFunc(p.frozen, before.span.meets)
			}
			j.hold("one executor", late < time.Second || frozen, "chain %s: run %d was still executed %s after run %d had begun", key, before.run, late, c.run)
		}
	}
}

// checkDead: who was declared dead claims nothing, however late its request arrives.
func (r *rig) checkDead(j *judge) {
	state, status := map[string]string{}, map[int64]string{}
	for _, commit := range r.past.Commits {
		for _, c := range commit.Changes {
			switch id, replica := c.Number("id"), c.Columns["replica_id"]; {
			case c.Table == "replica_heartbeat" && c.Op == "DELETE":
				delete(state, replica)
			case c.Table == "replica_heartbeat":
				state[replica] = c.Columns["state"]
			case c.Table == "task_run" && c.Op != "DELETE":
				if c.Columns["status"] == "RUNNING" && status[id] != "RUNNING" {
					j.hold("dead", state[replica] != "DEAD", "run %d was claimed at %s by %s, which was declared dead before", id, commit.At, replica)
				}
				status[id] = c.Columns["status"]
			}
		}
	}
}
