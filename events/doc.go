// Package events turns what PostgreSQL announces into signals in this process.
//
// It knows the protocols (LISTEN, replication) and no table. What a Hub hands on
// is always a hint: "look again", never "do this". State lives in rows, so a
// lost, doubled or invented notification costs at most one needless look, or
// one sweep interval of waiting.
//
// # Parts
//
//   - [Decode] and [Encode] are the codec of the notifications' payload.
//   - [Hub] hands signals to those in this process who subscribed: wakes,
//     merged into one-slot channels, and batches of transitions in commit order.
//   - [Listener] owns one connection that listens, and feeds a Hub.
//   - [Replication] reads committed transactions from a replication slot, in the
//     order of their commits; [decoder] reads pgoutput's messages, and nothing else.
//   - [ProbeListen] tells whether a connection is one on which notifications
//     arrive at all; behind a transaction pooler they don't.
//
// # States of the Listener
//
//	          connected, set up, LISTEN committed
//	DOWN ────────────────────────────────────────▶ UP
//	 ▲  ◀── no answer, terminated, closed ──────────┘
//	 └── next try: within 50 ms, then with backoff up to 1 s
//
// On the way up, in this order: connect; the session's settings; OnConnect;
// LISTEN; Connected is true; every subscriber is told to look, and told of a
// gap where there was an earlier connection. A change committed before LISTEN
// is therefore found by that look, a later one by its notification: there is
// no moment between the two.
//
// On the way down: Connected is false; OnDisconnect returns; only then the
// connection is closed. What relies on a session lock of this connection has
// stopped before the server can give the lock to somebody else, unless it was
// the server that ended the session.
//
// While it is up, a ping with a deadline is sent after each interval of
// silence. A connection whose packets are dropped without a word is given up
// after PingInterval + PingTimeout (7 s by default). The server gives the same
// connection up, and its locks with it, half as long again after the last
// packet it saw, so that the client notices first.
//
// Where no notification came for ProbeInterval, the connection notifies itself
// in the place of a ping. One that doesn't hear that is given up as well. All
// listeners of the database hear the echo, so that mostly one asks for all. With
// Probe, a new one must first hear what a second one sends: behind a transaction
// pooler it can't, Deaf says so, and the next try is a ProbeInterval away. Nothing
// is set on such a connection, as it would stay for the pooler's other clients.
//
// # A Replication
//
// One goroutine reads and reports, so that no write falls into a read: reads
// are bounded by the next report. A report goes out every quarter of
// SenderTimeout, also while the buffer is full and nothing is read; it asks for
// an answer, and a server that is silent for SenderTimeout is given up. What is
// confirmed is the end of the last transaction that the reader confirmed, or,
// while nothing of it is pending, the end of all that was received: a slot moves
// on while its tables are idle. A crash of either side loses nothing that was
// not confirmed, and repeats some that was written.
//
// # Invariants
//
//   - The listening connection is never left in a transaction: the server would
//     withhold notifications. A function that leaves one open costs the connection.
//   - Only Run touches the connection; Do hands it a function.
//   - Publishing never blocks and its memory is bounded. A subscriber too slow
//     for its buffer gets a gap in the place of what was dropped.
//   - Transitions arrive in commit order. A gap stands before the transitions
//     that came after it.
//
// # Crash points
//
//   - This process dies: the server ends the session; nothing is stored here.
//     The next start connects and looks.
//   - The server dies, or ends the session: notifications until the next LISTEN
//     are lost for us. The next connection looks and reports a gap.
//   - The network drops packets: as above, after the ping's deadline.
//   - A payload can't be decoded: counted, everybody looks; the connection stays.
//   - Somebody floods the channel, which anybody who connects can: each sender and all
//     together have a budget. What is beyond it is not read but heard, so that the
//     server's queue goes on: everybody looks, and readers of batches look at the rows.
//   - OnConnect or LISTEN fails: the attempt counts as failed and is repeated.
package events
