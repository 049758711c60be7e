package chaos_test

import (
	"fmt"

	"github.com/jackc/pglogrepl"
)

// checkStream: the lines of all processes, without repeats, are the transitions of the slot, and their places in the log grow
// with the commits.
func (r *rig) checkStream(j *judge, told []string) {
	type place struct {
		lsn pglogrepl.LSN
		n   int
	}
	lines := map[string]place{}
	for _, p := range r.all {
		p.lines(p.out, func(line map[string]any) {
			if line["event"] == "stream.gap" {
				j.hold("stream", false, "a gap where nothing was lost: %v", line)
			}
			if line["stream"] != "task_run" || line["to"] == nil {
				return
			}
			from := line["from"]
			if from == nil {
				from = "null"
			}
			run, _ := line["run_id"].(float64)
			key := fmt.Sprintf("%d %v %v", int64(run), from, line["to"])
			text, _ := line["lsn"].(string)
			lsn, _ := pglogrepl.ParseLSN(text)
			at := lines[key]
			j.hold("stream", at.n == 0 || at.lsn == lsn, "%s is told of %s and of %s", key, at.lsn, lsn)
			lines[key] = place{lsn, at.n + 1}
		})
	}
	var last pglogrepl.LSN
	for _, key := range told {
		at, ok := lines[key]
		j.hold("stream", ok, "%s was committed and is not told", key)
		if ok {
			j.hold("stream", at.lsn >= last, "%s is told of %s, behind %s", key, at.lsn, last)
			last = at.lsn
			delete(lines, key)
		}
	}
	for key, at := range lines {
		j.hold("stream", false, "%s is told of %s and was never committed", key, at.lsn)
	}
}
