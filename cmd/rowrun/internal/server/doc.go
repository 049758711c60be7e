// Package server is what a process serves over HTTP.
//
//	GET /livez    200 as long as the process answers; never asks the database
//	GET /readyz   200 if every check holds, otherwise 503; JSON with each check
//	GET /metrics  for Prometheus
//	GET /status   JSON: this replica and the others
//	GET /events   the stream as server-sent events
//
// Below Prefix it serves a dashboard, where it is given one. Anything else is 404.
// /status, /events and the dashboard are guarded, by internal/auth: with a token
// they ask for it; without one they are served only where the server listens on
// loopback, to requests for a loopback name.
//
// All of that is a Surface, of one replica. A Front is the address of a process, bound before there is a Surface: until then
// it says that it is alive and not ready. Shards do so for each of several databases.
//
// A Front or Shards that were stopped have closed their listener and left no goroutine behind.
package server
