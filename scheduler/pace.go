package scheduler

import "time"

// pace keeps apart in time what replicas do that have begun, or lost their database, at the same moment: what is only to be done
// every so often is done sooner by chance, never later, and what failed is tried again sooner than its pause is long. It gives a
// number from 0 on, below 1.
type pace func() float64

// first is the wait before something is done for the second time: at least half of the interval.
func (random pace) first(every time.Duration) time.Duration { return random.again(every) }

// next is the wait after that: at least nine tenths, which costs little, and keeps apart what the first has.
func (random pace) next(every time.Duration) time.Duration {
	return time.Duration(float64(every) * (1 - random()/10))
}

// again is the wait before another try: at least half of the pause.
func (random pace) again(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (1 - random()/2))
}

// rounds gives the waits of a loop, one after the other.
type rounds struct {
	pace  pace
	begun bool
}

func (r *rounds) wait(every time.Duration) time.Duration {
	if !r.begun {
		r.begun = true
		return r.pace.first(every)
	}
	return r.pace.next(every)
}

// lost has the loop find a place of its own again: what it looks at was away, for others as well.
func (r *rounds) lost() { r.begun = false }
