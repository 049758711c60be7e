package events

// DecodeWritten is how a payload in the database's own writing is read.
func DecodeWritten(payload string) ([]Transition, bool) { return decodeWritten(payload) }
