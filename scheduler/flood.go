package scheduler

import "time"

// Anybody who can connect can say "look", and a look costs a pass. So many a second may be in vain, and after a quiet
// while so many at once; a pass that finds something costs nothing. With all of them spent, wake-ups are taken together:
// what is really there waits for a fortieth of a second then.
const (
	vainRate  = 40
	vainBurst = 200
)

// vain counts wake-ups that found nothing. It is for one goroutine.
type vain struct {
	spent float64
	at    time.Time
}

// looked takes how a pass went that a wake-up had asked for.
func (v *vain) looked(found bool, now time.Time) {
	v.drain(now)
	if found { // others may be quicker now and then
		v.spent = max(0, v.spent-2)
		return
	}
	v.spent++
}

// pause is how long no further wake-up is to be taken; 0: one may be.
func (v *vain) pause(now time.Time) time.Duration {
	v.drain(now)
	if v.spent < vainBurst {
		return 0
	}
	return time.Duration((v.spent-vainBurst)/vainRate*float64(time.Second)) + time.Millisecond
}

func (v *vain) drain(now time.Time) {
	v.spent = max(0, v.spent-vainRate*now.Sub(v.at).Seconds())
	v.at = now
}
