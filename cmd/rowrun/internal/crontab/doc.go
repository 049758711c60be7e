// Package crontab reads crontabs: each entry's schedule, as `rowrun schedule` takes it, its command line, and what else cron
// would have given it. What can't be taken over is said with its line, and is never left out silently.
package crontab
