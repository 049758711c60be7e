// Package migrations holds the schema of Rowrun as embedded SQL and brings a
// database to it.
//
// What it promises:
//
//   - Many processes may call at once: one works, the others poll. The lock lives in
//     the very session that migrates, so it can't be lost while that goes on, and the
//     server's end of a killed process keeps it until it is done.
//   - Each migration is one transaction, and its last statement records it in
//     rowrun.migration. A file is therefore sent as one simple query, without BEGIN.
//   - A process that is killed leaves nothing that needs a person: golang-migrate's
//     flag (rowrun.schema_migrations.dirty) lives outside of that transaction, so each
//     call first settles it by what rowrun.migration says was committed.
//   - A migration waits for no lock longer than 400 ms at a time and tries again, so that
//     it never queues up a whole application behind itself.
//   - A schema newer than this binary is left alone: old replicas go on with it.
//
// Crash points of one migration: before the flag (nothing happened), between flag and
// commit (settled back), between commit and the flag's end (settled forward).
//
// golang-migrate's own Migrate type is not used, only its source, driver and table: it
// reads ahead in goroutines that nobody ends after a failure.
package migrations
