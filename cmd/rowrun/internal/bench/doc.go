// Package bench measures Rowrun in a user's own database, with replicas as
// processes of their own, and leaves nothing behind.
//
// What it makes carries one name, rowrun_bench_ and eight hexadecimal digits:
// a schema, the queue of its tasks, the project of its plans, its target
// databases and its replicas. The schema is made first, with a table that says
// what is to be put back, and dropped last: whatever crash comes in between,
// Clean finds it and removes the rest by that name. Rows that carry another
// name are never written. A session lock tells a bench that runs from one that
// was killed.
//
// It speaks SQL as a user does. Its statements begin with "-- bench_", so that
// pg_stat_statements tells them from those of the replicas.
//
// The replicas neither remove old rows nor look for dead replicas: that would
// be other people's rows. They write the stream, to nowhere, only where nobody
// ever wrote one, because they would take other people's lines along; what
// they leave of it (the slot, the positions) goes with the rest.
package bench
