package drill

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Markdown writes the report for people, as a page that can be filed.
func (r Report) Markdown(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	verdict := "passed"
	if !r.Passed {
		verdict = "FAILED"
	}
	line("# Drill %s: %s", r.Drill, verdict)
	line("")
	how := "The drill started and killed workers of its own."
	if r.Mode == ModeByHand {
		how = "People stopped and started replicas."
	}
	line("%s Queue %s, task type %s, %s to %s.", how, cell(r.Queue), cell(r.Type), r.BeganAt.UTC().Format(time.DateTime+"Z"), r.EndedAt.UTC().Format(time.TimeOnly+"Z"))
	line("")
	line("| step | | after | deadline | found | why by then |")
	line("|---|---|---|---|---|---|")
	for _, s := range r.Steps {
		line("| %s | %s | %s | %s | %s | %s |", s.Name, s.word(), seconds(s.AfterMS), seconds(s.WithinMS), cell(s.Found), cell(s.Reason))
	}
	line("")
	line("Runs: %d inserted, %d lost with their workers, %d settled, %d DONE in the end.", r.Runs.Inserted, r.Runs.Lost, r.Runs.Settled, r.Runs.Done)
	if len(r.Alerts) > 0 {
		line("")
		line("| who told of it | after | what | rule for Prometheus |")
		line("|---|---|---|---|")
		for _, a := range r.Alerts {
			after := "not at all"
			if a.AfterMS != nil {
				after = seconds(*a.AfterMS)
			}
			line("| %s | %s | %s | %s |", cell(a.Source), after, cell(a.Seen), cell(a.Rule))
		}
	}
	if len(r.Lost) > 0 {
		line("")
		line("| lost worker | lease | last heartbeat | runs |")
		line("|---|---|---|---|")
		for _, l := range r.Lost {
			line("| %s | %s | %s | %d |", cell(l.ReplicaID), seconds(l.LeaseMS), l.LastHeartbeat.UTC().Format("15:04:05.000Z"), l.Running)
		}
	}
	line("")
	line("rowrun %s on %s; deployment %s, PostgreSQL %s, schema version %d, %d other replicas.", cell(r.Program.Version), r.Program.Platform,
		r.Deployment.ID, cell(r.Deployment.ServerVersion), r.Deployment.SchemaVersion, r.Deployment.Others)
	for _, note := range r.Notes {
		line("")
		line("Note: %s.", cell(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Step) word() string {
	if s.Passed {
		return "passed"
	}
	return "FAILED"
}

// cell keeps a value in its cell, and what was found on a machine from moving a terminal's cursor.
func cell(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	return strings.ReplaceAll(text, "|", `\|`)
}

func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) + " s" }
