// Package sqlexec executes tasks of the types SQL and DATABASE_MIGRATE on their
// target databases.
//
// What it promises:
//
//   - The text is split into statements here and checked as a whole before
//     anything is sent. Each statement then goes to the server on its own, by the
//     extended protocol, on one connection that is opened for the run and named
//     rowrun:<run id>. A text that the splitter misread can therefore cause an
//     error, but never run two statements as one.
//   - With a transaction (the default) all statements take effect or none does.
//   - When the context ends, so does the statement on the server, before Execute
//     returns: by cancel requests, then by pg_terminate_backend, within 15 s. If
//     the sidecar is killed, the server notices it by itself within some seconds
//     (client_connection_check_interval).
//   - A COMMIT whose answer was lost is looked into on a new connection: for
//     DATABASE_MIGRATE the ledger tells, for SQL the transaction's status, as long
//     as the server has not been restarted. Only where neither can be asked does
//     the failure say that the outcome is unknown.
//   - A DATABASE_MIGRATE with a transaction takes effect once per deployment, task
//     and version, however often it is executed. See ledger.go for the states.
//
// Crash points of DATABASE_MIGRATE. With a transaction the ledger row and the
// statements commit together: a crash before leaves nothing, a crash after leaves
// a row that the next attempt finds (ALREADY_APPLIED). Without one the row is
// STARTED before the first statement and DONE after the last: a crash between
// leaves it STARTED, and only an attempt that a person asked for goes on from there.
package sqlexec
