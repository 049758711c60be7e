package replica

import "time"

// closeTime is how long a stop waits for connections to be closed: a server that has gone silent lets each wait for its goodbye.
const closeTime = 2 * time.Second

// closeSoon closes, and waits no longer than closeTime for that.
func closeSoon(shut func()) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		shut()
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
}
