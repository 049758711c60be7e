// Package connect is the way to Rowrun's own database, for whatever runs on it: waiting until it can be reached, whether
// its server and schema are what this program needs, whether a pooler stands in between, and in words what is wrong.
//
// It never shows a login. What time may mend is told from what somebody has to change.
package connect
