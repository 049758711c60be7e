// Package simulation runs replicas against a database that is simulated, in time that is simulated too. It has tests only.
//
// # What is real, and what isn't
//
// The scheduler, its executions, the hub, the listener with its connection's protocol, the stream from rows, and the joints
// between them are those that ship. The database is a model of what the methods of scheduler.Store and stream.Store promise:
// rows with statuses and gates, claims,
// ends by compare-and-set, successors, leases by a clock of its own, the lock of promotions, transactions that others see
// when they commit, and notifications to the sessions that listen. What SQL does is not tested here: the tests of package
// store, the gates test and the chaos rig do that on real servers.
//
// # A schedule
//
// A seed makes a schedule: one to four replicas with a configuration, plans and tasks, what users do and when, how long each
// call takes, and which faults befall it. Every call of a replica has numbers of its own, drawn from the seed, the replica,
// the method and how often it was called, so that they don't depend on which goroutine came first. testing/synctest lets time
// pass when nothing is left to do at a moment.
//
// In a quiet schedule nothing is lost, and no sweep comes: all that is to do must be found by wake-ups. In the others faults
// happen until a moment, from which on everything must end within some sweeps.
//
// # What must hold
//
// Each claim is executed at most once; a run's chain has one executor that wasn't told to stop; nobody loses a run to a sweep
// while an executor of it goes on that nobody has told to stop; a replica never executes more than its slots; what an
// executor returned is what stands in the row, unless somebody took the run from it; nothing waits for ever; a drain ends in
// its time; and no goroutine is left. The stream tells each change of status, once where no gap stands before it, a run's own
// in their order, and only whoever has the lock writes it.
package simulation
