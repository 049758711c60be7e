package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// fleet is a simulated deployment of many shards: each a machine of so many cores, used by the database, its replicas and those who insert.
type fleet struct {
	cost     float64   // CPU of one run, in s, from its INSERT to its end
	cores    float64   // of a shard
	rate     float64   // runs/s of all shards
	sizes    []float64 // of the tenants, as parts of the rate
	together int       // so many runs come in one statement
}

// newFleet has tenants whose sizes are log-normal with σ = 1, as sizes of customers about are: of 100,000 the largest has some 70 times the mean.
func newFleet(cost, rate float64, tenants, together int) *fleet {
	f := &fleet{cost: cost, cores: 2, rate: rate, together: together}
	rnd := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // not a secret: the same fleet each time
	sum := 0.0
	for range tenants {
		size := math.Exp(rnd.NormFloat64())
		f.sizes = append(f.sizes, size)
		sum += size
	}
	for i := range f.sizes {
		f.sizes[i] /= sum
	}
	slices.SortFunc(f.sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	return f
}

// byHash are the rates of so many shards where a hash places tenants, byTable where a table does: the largest first, each where the least is.
func (f *fleet) byHash(shards int) []float64 {
	rnd := rand.New(rand.NewPCG(2, 2)) //nolint:gosec // not a secret
	rates := make([]float64, shards)
	for _, size := range f.sizes {
		rates[rnd.IntN(shards)] += size * f.rate
	}
	slices.Sort(rates)
	return rates
}

func (f *fleet) byTable(shards int) []float64 {
	rates := make([]float64, shards)
	for _, size := range f.sizes {
		least := 0
		for i, rate := range rates {
			if rate < rates[least] {
				least = i
			}
		}
		rates[least] += size * f.rate
	}
	slices.Sort(rates)
	return rates
}

// used is the part of a shard's cores that so many runs/s use.
func (f *fleet) used(rate float64) float64 { return rate * f.cost / f.cores }

// waits simulates a shard for so long: statements come at random moments, each of whose runs is worked off behind all that came before (Lindley's
// recursion). It returns how long the last run of each statement takes until its end, in ms.
func (f *fleet) waits(rate float64, during time.Duration) []float64 {
	rnd := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // not a secret
	work := float64(f.together) * f.cost / f.cores
	var waits []float64
	left := 0.0 // of the work that came before
	for at := 0.0; at < during.Seconds(); {
		gap := rnd.ExpFloat64() * float64(f.together) / rate
		at += gap
		left = max(0, left-gap) + work
		waits = append(waits, left*1000)
	}
	return waits
}

// caughtUp is how long after an outage a shard has worked off what came meanwhile: never, where it has no room.
func (f *fleet) caughtUp(rate float64, outage time.Duration) time.Duration {
	used := f.used(rate)
	if used >= 1 {
		return math.MaxInt64
	}
	return time.Duration(float64(outage) * used / (1 - used))
}

// enough is the least number of shards of which none is used by more than so much of its cores.
func (f *fleet) enough(most float64, place func(int) []float64) int {
	shards := int(math.Ceil(f.used(f.rate) / most))
	for f.used(place(shards)[shards-1]) > most {
		shards += max(1, shards/50)
	}
	return shards
}

// scale1M measures what a run costs here, and simulates shards of two cores that work off 1,000,000 runs a second together.
func (b *bench) scale1M(ctx context.Context) error {
	var rounds []demands
	for range b.scale(1, 3) {
		d, err := b.demandsOn(ctx, 2, noopRuns)
		if err != nil {
			return err
		}
		rounds = append(rounds, d)
	}
	cost := median(rounds)
	b.table.row("measured on two cores", fmt.Sprintf("INSERT %.0f µs, the rest %.0f µs of CPU a run", cost.insert, cost.cpu), "")
	const rate, tenants, most = 1_000_000, 100_000, 0.6
	f := newFleet((cost.insert+cost.cpu)/1e6, rate, tenants, 100)
	even := int(math.Ceil(f.used(rate) / most))
	b.table.row(fmt.Sprintf("%d runs/s, used to %.0f %%, all shards alike", rate, most*100), fmt.Sprintf("%d shards", even), "")
	for _, placed := range []struct {
		how   string
		rates func(int) []float64
	}{{"a hash", f.byHash}, {"a table, the largest first", f.byTable}} {
		rates := placed.rates(even)
		hottest := rates[len(rates)-1]
		b.table.row(fmt.Sprintf("%d tenants placed by %s", tenants, placed.how), fmt.Sprintf("the hottest of %d shards: %.0f runs/s, used to %.0f %%; none above %.0f %% with %d shards",
			even, hottest, f.used(hottest)*100, most*100, f.enough(most, placed.rates)), "")
		for _, together := range []int{1, 100, 1000} {
			f.together = together
			b.table.row(fmt.Sprintf("  in statements of %d: INSERT → end on the hottest", together), spread(f.waits(hottest, time.Minute), 50, 99), "")
		}
		f.together = 100
		b.table.row("  the hottest, away for 60 s", fmt.Sprintf("%.0f runs behind; caught up %s later", hottest*60, f.caughtUp(hottest, time.Minute).Round(time.Second)), "")
	}
	return nil
}
