package events

import "time"

// Anybody who can connect may notify, so that reading notifications has a budget: for each server process that sends
// them, and for all of them. Costs are counted in notifications of up to 1,000 bytes.
const (
	senderRate, senderBurst = 4000, 20000
	allRate, allBurst       = 10000, 40000
	// oddRate is for payloads that are read by a JSON decoder, which takes twenty times as long: those of a newer schema.
	oddRate, oddBurst = 100, 1000
	// maxSenders bounds memory: with more the oldest counts are forgotten, and the budget of all still holds.
	maxSenders = 1000
)

// bucket is a token bucket: so many a second, and after a rest so many at once.
type bucket struct {
	rate, burst float64
	left        float64
	at          time.Time
}

func newBucket(rate, burst float64) *bucket { return &bucket{rate: rate, burst: burst, left: burst} }

func (b *bucket) fill(now time.Time) {
	if !b.at.IsZero() {
		b.left = min(b.burst, b.left+b.rate*now.Sub(b.at).Seconds())
	}
	b.at = now
}

// budget says which notifications are read. The others are a reason to look, and no more. It is for one goroutine.
type budget struct {
	all, odd *bucket
	senders  map[uint32]*bucket
}

func newBudget() *budget {
	return &budget{all: newBucket(allRate, allBurst), odd: newBucket(oddRate, oddBurst), senders: map[uint32]*bucket{}}
}

// read says whether a notification of a sender is to be read. One whose own budget is used up takes nothing from that
// of all, so that it doesn't silence the others.
func (b *budget) read(sender uint32, bytes int, now time.Time) bool {
	s := b.senders[sender]
	if s == nil {
		if len(b.senders) >= maxSenders {
			clear(b.senders)
		}
		s = newBucket(senderRate, senderBurst)
		b.senders[sender] = s
	}
	cost := float64(1 + bytes/1000)
	s.fill(now)
	b.all.fill(now)
	if s.left < cost || b.all.left < cost {
		return false
	}
	s.left -= cost
	b.all.left -= cost
	return true
}

// decode says whether a payload is to be read by the JSON decoder.
func (b *budget) decode(now time.Time) bool {
	b.odd.fill(now)
	if b.odd.left < 1 {
		return false
	}
	b.odd.left--
	return true
}
