package scheduler

import "sync"

// turnstile is a sync.RWMutex for what is held during a call of the database: who waits for it waits as for a condition, so that under
// testing/synctest time goes on meanwhile. Who asks to be alone comes before those who ask later.
type turnstile struct {
	mu      sync.Mutex
	cond    sync.Cond
	inside  int
	alone   bool
	waiting int // for being alone
}

func (g *turnstile) wait(closed func() bool) {
	g.cond.L = &g.mu
	for closed() {
		g.cond.Wait()
	}
}

// RLock waits until nobody is alone inside, nor waits for that.
func (g *turnstile) RLock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.alone || g.waiting > 0 {
		g.wait(func() bool { return g.alone || g.waiting > 0 })
	}
	g.inside++
}

// RUnlock leaves.
func (g *turnstile) RUnlock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 {
		g.cond.Broadcast()
	}
}

// Lock waits until nobody is inside.
func (g *turnstile) Lock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting++
	if g.alone || g.inside > 0 {
		g.wait(func() bool { return g.alone || g.inside > 0 })
	}
	g.waiting--
	g.alone = true
}

// Unlock leaves.
func (g *turnstile) Unlock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alone = false
	g.cond.Broadcast()
}
