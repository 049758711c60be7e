// Package dbexec executes tasks of the types SQL and DATABASE_MIGRATE on target databases that are not PostgreSQL: MySQL,
// MariaDB and SQLite. PostgreSQL's executor is package sqlexec.
//
// What it promises:
//
//   - The text is split into statements here and checked as a whole before anything is sent; what an engine lacks is refused in
//     words. Each statement then goes to the engine on its own. On MySQL and MariaDB the protocol takes one statement at a time, so
//     that a text that the splitter misread can cause an error, but never run two statements as one.
//   - With a transaction all statements take effect or none does. A text that can't be one transaction on its engine is refused
//     where the payload asks for one, and executed statement by statement where it doesn't say.
//   - When the context ends, so does the statement, before Execute returns: on MySQL and MariaDB by KILL from a second connection,
//     on SQLite by an interrupt.
//   - A version of a DATABASE_MIGRATE is kept in a ledger in the target. On SQLite, and on MySQL and MariaDB for texts that are one
//     transaction, it takes effect once. Where a procedure commits in the middle of that, the ledger names the statement, and the
//     version is not done. For other texts the ledger counts the statements that took effect: see ledger.go.
//
// Crash points of DATABASE_MIGRATE, statement by statement. A statement that can be part of a transaction commits together with its
// count: a crash before leaves neither, a crash after both. One that commits by itself (DDL on MySQL and MariaDB) is marked as begun
// before it is sent and counted afterwards: a crash in between leaves the mark. The next attempt waits for the session that was
// left behind, then sends that statement again where its repetition changes nothing, or where the engine's refusal tells that it took
// effect. Any other is for a person to look at.
//
// A server of MySQL's kind doesn't notice that a client was killed while it executes a statement. Each session holds a lock of its
// server (GET_LOCK) that is named after the job or the version, so that the next attempt finds the session that was left behind:
// see mysql_alone.go.
package dbexec
