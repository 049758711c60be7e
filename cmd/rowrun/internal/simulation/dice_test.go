package simulation

import (
	"math/bits"
	"sync"
	"time"
)

// dice are numbers by chance, drawn from what they were made of.
type dice uint64

// roll makes dice of a seed and of what they are for.
func roll(seed uint64, of ...uint64) *dice {
	d := dice(seed)
	for _, n := range of {
		d = dice(mix(uint64(d) ^ mix(n+0x9e3779b97f4a7c15)))
	}
	d = dice(mix(uint64(d)))
	return &d
}

func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	return mix(uint64(*d))
}

// n is a number from 0 on, below most.
func (d *dice) n(most int) int {
	high, _ := bits.Mul64(d.next(), uint64(most)) //nolint:gosec // above 0
	return int(high)                              //nolint:gosec // below most
}

// from is a number from low to high, both included.
func (d *dice) from(low, high int) int { return low + d.n(high-low+1) }

func (d *dice) float() float64 { return float64(d.next()>>11) / (1 << 53) }

func (d *dice) chance(p float64) bool { return d.float() < p }

// between is a duration in between; to the nanosecond, so that no two moments are the same.
func (d *dice) between(low, high time.Duration) time.Duration {
	return low + time.Duration(d.float()*float64(high-low))
}

func pick[T any](d *dice, of ...T) T { return of[d.n(len(of))] }

// bytesOf gives numbers as bytes, for who makes ids of them, on whatever goroutine.
type bytesOf struct {
	mu   sync.Mutex
	dice *dice
}

func (r *bytesOf) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range b {
		b[i] = byte(r.dice.next())
	}
	return len(b), nil
}

// textOf makes a number of a text.
func textOf(text string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(text) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
