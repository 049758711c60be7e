package cli

import (
	"fmt"
	"time"
)

// Age says how long ago a moment was, or how soon it comes: "3 min ago", "in 2 h". What is further away than two months is
// a date. The exact moment stands in -o wide and json.
func Age(now time.Time, at *time.Time) string {
	if at == nil {
		return ""
	}
	d := now.Sub(*at)
	future := d < 0
	if future {
		d = -d
	}
	var text string
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		text = fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		text = fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		text = fmt.Sprintf("%d h", d/time.Hour)
	case d < 60*24*time.Hour:
		text = fmt.Sprintf("%d d", d/(24*time.Hour))
	default:
		return at.UTC().Format("2006-01-02")
	}
	if future {
		return "in " + text
	}
	return text + " ago"
}

// Moment is a time to the second, "" for none.
func Moment(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05")
}
