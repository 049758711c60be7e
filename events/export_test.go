package events

import "time"

// What the tests' errors are.
var (
	ErrPayload  = errPayload
	ErrPgoutput = errPgoutput
	ErrLSN      = errLSN
	ErrClosed   = errClosed
)

// Decode reads a payload.
func Decode(payload string) ([]Transition, error) { return decode(payload) }

// Decoder reads messages of pgoutput.
type Decoder = decoder

// Decode reads one message.
func (d *decoder) Decode(data []byte) (any, error) { return d.decode(data) }

// Gap tells all of h's readers that something may have been lost.
func (h *Hub) Gap(reason string) { h.gap(reason) }

// DecodeWritten is how a payload in the database's own writing is read.
func DecodeWritten(payload string) ([]Transition, bool) { return decodeWritten(payload) }

// SetMostQueued sets how full the queue of notifications may be where l begins to listen.
func SetMostQueued(l *Listener, most float64) { l.mostQueued = most }

// AnswerToEcho is what becomes of the answer to a notification that a Listener sent to itself.
func AnswerToEcho(err error) error {
	return newEcho(time.Second, func() float64 { return 0 }).sent(err)
}
