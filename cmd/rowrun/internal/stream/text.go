package stream

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
	"github.com/rowrun/rowrun/store"
)

const (
	clockLayout = "15:04:05.000"
	reset       = "\x1b[0m"
	yellow      = "\x1b[33m"
)

// text writes the line for people: time, run, status, what it is, what became of it.
func (l *line) text(to *bytes.Buffer, color bool) {
	on, off := "", ""
	if look, ok := statuses.Of(l.To); ok && color {
		on, off = "\x1b["+look.SGR+"m"+look.Icon+" ", reset
	}
	fmt.Fprintf(to, "%s  run %-8d %s%-9s%s", l.at.UTC().Format(clockLayout), l.RunID, on, l.To, off)
	var what []string
	if row := l.row; row != nil {
		what = append(what, fmt.Sprintf("%-16s", OneLine(row.Type)), fmt.Sprintf("%-20s", OneLine(row.TaskName)))
		if row.DatabaseID != nil {
			place := *row.DatabaseID
			if row.Version != nil {
				place += " " + *row.Version
			}
			what = append(what, OneLine(place))
		}
	} else {
		what = append(what, fmt.Sprintf("task %d", l.TaskID))
	}
	if l.PlanID != nil {
		what = append(what, fmt.Sprintf("plan %d", *l.PlanID))
	}
	if l.Attempt > 0 {
		what = append(what, fmt.Sprintf("attempt %d", l.Attempt))
	}
	if name, ms, ok := l.duration(); ok {
		verb := map[string]string{"wait_ms": "waited", "run_ms": "took"}[name]
		what = append(what, verb+" "+store.Milliseconds(ms).Round(10*time.Microsecond).String())
	}
	if l.To == "FAILED" || l.To == "CANCELED" {
		what = append(what, l.outcome())
	}
	fmt.Fprintf(to, " %s\n", strings.TrimRight(strings.Join(what, " "), " "))
}

// outcome says why a run ended otherwise than DONE, and what follows.
func (l *line) outcome() string {
	if l.row == nil {
		return ""
	}
	var s string
	if l.row.Code != nil {
		s = OneLine(*l.row.Code)
	}
	if detail := cut(l.row.Detail); detail != nil {
		s += ": " + OneLine(*detail)
	}
	if l.row.RetryRunID != nil {
		s += fmt.Sprintf(" (run %d follows)", *l.row.RetryRunID)
	}
	return s
}

func gapText(to *bytes.Buffer, at time.Time, reason string, color bool) {
	on, off := yellow, reset
	if !color {
		on, off = "", ""
	}
	fmt.Fprintf(to, "%s  %s… transitions may be missing here: %s%s\n", at.UTC().Format(clockLayout), on, reason, off)
}

// OneLine keeps text on its line and out of the terminal's control: it comes
// from users and from programs that were run.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
