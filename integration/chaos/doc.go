// Package chaos holds a deployment of real replicas, on a real server, to its contract while faults are drawn from a seed.
//
// A schedule is drawn from a seed: work of every kind (world_test.go, actors_test.go, workers_test.go) and faults, one after
// another (faults_test.go). What happens is told by witnesses that know nothing of the code: a replication slot of the rig's
// own (integration/history), the app that is called, the receiver of webhooks, the target database, the workers, the lines of
// the stream, and every answer that a client got. Once the faults have ended, a person does what only a person can, everything
// has to come to its end, and the witnesses are held against each other (check_test.go).
//
// A seed draws the same schedule again; when each statement arrives is the machine's, so that a failure may need several runs.
package chaos
