package drill

import (
	"fmt"
	"time"
)

// deadlines are those of the steps after the outage, with their reasons.
type deadlines struct {
	noticed, alerted, settled, recovered                         time.Duration
	noticedReason, alertedReason, settledReason, recoveredReason string
}

func (d *Drill) deadlines() deadlines {
	return reckon(d.lease, d.cfg.StaleSweep, d.cfg.Slack, d.others > 0, len(d.cfg.MetricsURLs) > 0)
}

// reckon says until when what must have happened, and why. With others, these settle; without, new workers do, and what they
// settle counts from their start.
func reckon(lease, sweep, slack time.Duration, others, metrics bool) deadlines {
	t := deadlines{
		noticed:       lease + slack,
		noticedReason: fmt.Sprintf("nobody is dead before the lease of %s is over; %s of slack", lease, slack),
		alerted:       lease + slack,
		alertedReason: fmt.Sprintf("figures turn with the lease of %s; %s of slack", lease, slack),
	}
	if others {
		t.alerted += 2 * sweep
		t.alertedReason = fmt.Sprintf("a lease of %s, a look for dead replicas (%s), one for runs that nobody can run (%s); %s of slack", lease, sweep, sweep, slack)
		t.settled = lease + sweep + slack
		t.settledReason = fmt.Sprintf("a lease of %s and a look for dead replicas (each %s); %s of slack", lease, sweep, slack)
		t.recovered = launch + slack
		t.recoveredReason = fmt.Sprintf("new workers claim at once; %s for what they have to do, %s of slack", launch, slack)
	} else {
		t.settled = lease + sweep + slack
		t.settledReason = fmt.Sprintf("since new workers came: before they declare others dead they are in contact for a whole lease (%s), then they look (each %s); %s of slack", lease, sweep, slack)
		t.recovered = t.settled + launch
		t.recoveredReason = fmt.Sprintf("since new workers came: what is lost is settled (%s), then run (%s)", t.settled, launch)
	}
	if metrics {
		t.alerted += cached
		t.alertedReason += fmt.Sprintf("; endpoints tell what the database said up to %s ago", cached)
	}
	return t
}
