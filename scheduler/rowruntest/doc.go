// Package rowruntest helps to test programs that insert runs or execute them, on a real PostgreSQL: the schema in the test's
// database (Schema), what was enqueued (In), running all of it (Work), and how it ended.
//
//	rowruntest.Schema(t, url)
//	jobs := rowruntest.In(t, tx)
//	job := jobs.RequireEnqueued(rowruntest.Want{Task: "send receipt", Input: map[string]any{"order": 17}})
//	rowruntest.Work(t, url, rowruntest.Config{Executors: executors})
//	jobs.RequireEnded(job.ID, "DONE")
//
// # What Work does
//
//	start   a replica of its own registers, with the test's executors, by default one run at a time
//	step    it runs what is due, in order of priority, run_at and id, and what becomes due by that: dependencies, plans
//	idle    nothing runs, and nothing that is due could: the next retry, or what is scheduled up to Config.Until, becomes
//	        due, in the order of time, and another step follows; nothing left: the end
//	end     the replica drains; what ended meanwhile is returned
//
// It waits for no clock: a retry_delay of an hour takes no longer than one of a second. It is the engine of `rowrun serve` and of package
// replica, so gates, timeouts, payloads laid over with inputs, panics and retries are as they will be.
//
// A database belongs to one test at a time: Work runs what it finds there, whoever inserted it.
package rowruntest
