// Package database is the way to Rowrun's own database: which one is meant, waiting until it can be reached, whether its
// server and schema are what this program needs, and in words what is wrong with it.
//
// It never shows a login. What time may mend is told from what somebody has to change.
package database
