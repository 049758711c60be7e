// Package server is the HTTP surface of one replica.
//
//	GET /livez   200 as long as the process answers; never asks the database
//	GET /readyz  200 if every check holds, otherwise 503; JSON with each check
//
// Anything else is 404. A server that was stopped has closed its listener and
// left no goroutine behind.
package server
