// Package wake joins a scheduler with the hub that hears the database: which transitions are worth a look of which of its
// loops, and telling how the replica is woken. It decides nothing about runs, and starts nothing by itself.
package wake

import (
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/scheduler"
)

// Scheduler makes a scheduler that the hub wakes until unsubscribe is called. The hub may hear nothing before it returns:
// what wakes a scheduler asks it what it knows already.
func Scheduler(hub *events.Hub, c scheduler.Config) (s *scheduler.Scheduler, unsubscribe func(), err error) {
	f := &filter{}
	var ends [3]func()
	c.Wake, ends[0] = hub.Subscribe(f.mayOpenGate)
	c.Available, ends[1] = hub.SubscribeOthers(f.mayBeClaimed)
	c.Ended, ends[2] = hub.Subscribe(f.mayBeStopped)
	unsubscribe = func() {
		for _, end := range ends {
			end()
		}
	}
	if f.scheduler, err = scheduler.New(c); err != nil {
		unsubscribe()
		return nil, nil, err
	}
	return f.scheduler, unsubscribe, nil
}

// filter says which transitions concern a scheduler: those of its own making it knows already. What its own sessions
// promote it claims, or knows of, before it could hear of it.
type filter struct{ scheduler *scheduler.Scheduler }

func (f *filter) mayOpenGate(t events.Transition) bool {
	return Ends(t) && !Own(f.scheduler, t)
}

// mayBeClaimed also tells the scheduler of the claims of others.
func (f *filter) mayBeClaimed(t events.Transition) bool {
	if t.To == "RUNNING" && !Own(f.scheduler, t) {
		f.scheduler.OthersClaimed()
	}
	return t.To == "AVAILABLE" && !f.scheduler.Claimed(t.RunID)
}

func (f *filter) mayBeStopped(t events.Transition) bool {
	return Ends(t) && Own(f.scheduler, t)
}

// Own says that the scheduler holds or held the run of this transition.
func Own(s *scheduler.Scheduler, t events.Transition) bool {
	return t.ReplicaID != nil && *t.ReplicaID == s.Status().ReplicaID
}

// Ends says that a run has ended with this transition.
func Ends(t events.Transition) bool {
	return t.To == "DONE" || t.To == "FAILED" || t.To == "CANCELED"
}
