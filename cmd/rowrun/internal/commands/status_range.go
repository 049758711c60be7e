package commands

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// span is a range of the guidelines for monitoring plug-ins: a value outside of it is a problem, with a @ one inside.
// https://www.monitoring-plugins.org/doc/guidelines.html#THRESHOLDFORMAT
type span struct {
	from, to float64 // both belong to it
	inside   bool
}

var errSpan = errors.New("not a range")

// parseSpan reads [@][start:][end]; a number alone is an end, or, where least, a start. ~ is minus infinity. Where ages, a number
// is of seconds, or a duration such as 5m.
func parseSpan(text string, ages, least bool) (span, error) {
	s := span{to: math.Inf(1)}
	text, s.inside = strings.CutPrefix(text, "@")
	from, to, both := strings.Cut(text, ":")
	if !both && least {
		from, to = text, ""
	} else if !both {
		from, to = "", text
	}
	if from == "" && to == "" {
		return s, errSpan
	}
	var err error
	switch from {
	case "":
	case "~":
		s.from = math.Inf(-1)
	default:
		s.from, err = parseAmount(from, ages)
	}
	if to != "" && err == nil {
		s.to, err = parseAmount(to, ages)
	}
	if err != nil || s.from > s.to {
		return s, errSpan
	}
	return s, nil
}

func parseAmount(text string, ages bool) (float64, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
		return n, nil
	}
	if d, err := time.ParseDuration(text); ages && err == nil {
		return d.Seconds(), nil
	}
	return 0, errSpan
}

// bad says that a value is a problem.
func (s *span) bad(value float64) bool {
	return (value >= s.from && value <= s.to) == s.inside
}

// String is the range with numbers only, as performance data has it.
func (s *span) String() string {
	text := ""
	if s.inside {
		text = "@"
	}
	switch {
	case math.IsInf(s.from, -1):
		text += "~:"
	case s.from != 0 || math.IsInf(s.to, 1):
		text += amount(s.from) + ":"
	}
	if !math.IsInf(s.to, 1) {
		text += amount(s.to)
	}
	return text
}

func amount(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// thresholds are what a measure is held against; nil: nothing. They are a flag's value.
type thresholds struct {
	warning, critical *span
	ages, least       bool
}

// Set reads CRITICAL or WARNING,CRITICAL, each a range; one of the two may be empty.
func (t *thresholds) Set(text string) error {
	read := func(text string) (*span, error) {
		if text = strings.TrimSpace(text); text == "" {
			return nil, nil
		}
		s, err := parseSpan(text, t.ages, t.least)
		return &s, err
	}
	warning, critical, both := strings.Cut(text, ",")
	if !both {
		warning, critical = "", text
	}
	w, err := read(warning)
	if err != nil {
		return err
	}
	c, err := read(critical)
	if err != nil {
		return err
	}
	if w == nil && c == nil {
		return errSpan
	}
	t.warning, t.critical = w, c
	return nil
}

// String implements pflag.Value.
func (t *thresholds) String() string {
	if t.warning == nil {
		return t.end(t.critical)
	}
	return t.end(t.warning) + "," + t.end(t.critical)
}

// Type is what the help calls it.
func (t *thresholds) Type() string { return "[WARNING,]CRITICAL" }

// Accepted says what is accepted.
func (t *thresholds) Accepted() string {
	what := "numbers"
	if t.ages {
		what = "durations such as 5m or seconds"
	}
	return "[WARNING,]CRITICAL, each a range of monitoring plug-ins ([@][start:][end]) of " + what + ", or empty"
}

// end is a range as performance data and the flag have it, "" for none.
func (t *thresholds) end(s *span) string {
	if s == nil {
		return ""
	}
	return s.String()
}
