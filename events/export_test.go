package events

// DecodeWritten is how a payload in the database's own writing is read.
func DecodeWritten(payload string) ([]Transition, bool) { return decodeWritten(payload) }

// SetMostQueued sets how full the queue of notifications may be where l begins to listen.
func SetMostQueued(l *Listener, most float64) { l.mostQueued = most }

// AnswerToEcho is what becomes of the answer to a notification that a Listener sent to itself.
func AnswerToEcho(err error) error { return newEcho().sent(err) }
