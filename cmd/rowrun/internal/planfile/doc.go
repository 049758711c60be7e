// Package planfile reads plans as people keep them beside their code: a directory of migrations with Flyway's names, or a
// YAML file with tasks of any type. It asks no database.
//
// Each task has a hash, by which a later look tells whether it is still what was applied: of a migration the SHA-256 of the
// file (`sha256sum` shows the same), of a task in YAML that of everything that it says.
package planfile
