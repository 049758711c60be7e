package replica

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Selector chooses targets by their labels, and by name, which counts as the label of that name.
type Selector []requirement

// requirement is one condition: the label has one of the patterns, or, with not, none of them. No pattern: it is there.
type requirement struct {
	label    string
	patterns []string
	not      bool
}

const selectorForm = "accepted: conditions with commas between them, label=value, label=value|other, label!=value, label or !label; * in a value stands for any text"

// ParseSelector reads what --to says: env=prod,tier!=free.
func ParseSelector(text string) (Selector, error) {
	var s Selector
	word := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]{0,99}$`)
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		var r requirement
		label, value, given := strings.Cut(part, "=")
		switch {
		case given && strings.HasSuffix(label, "!"):
			r = requirement{label: strings.TrimSuffix(label, "!"), not: true, patterns: strings.Split(value, "|")}
		case given:
			r = requirement{label: label, patterns: strings.Split(value, "|")}
		case strings.HasPrefix(part, "!"):
			r = requirement{label: part[1:], not: true}
		default:
			r = requirement{label: part}
		}
		if !word.MatchString(r.label) {
			return nil, fmt.Errorf("%q is no condition; %s", part, selectorForm)
		}
		for _, pattern := range r.patterns {
			if strings.ContainsAny(pattern, `=[]\?`) {
				return nil, fmt.Errorf("%q is not accepted as a value; %s", pattern, selectorForm)
			}
		}
		s = append(s, r)
	}
	if len(s) == 0 {
		return nil, errors.New(selectorForm)
	}
	return s, nil
}

// Matches says whether a target has all that is asked for.
func (s Selector) Matches(name string, target FileDatabase) bool {
	for _, r := range s {
		value, there := target.Labels[r.label]
		if r.label == "name" {
			value, there = name, true
		}
		has := there && (r.patterns == nil || slices.ContainsFunc(r.patterns, func(pattern string) bool { return matches(pattern, value) }))
		if has == r.not {
			return false
		}
	}
	return true
}

// matches knows * and nothing else: a slash is a letter as any.
func matches(pattern, value string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == value
	}
	found, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(value, "/", "\x00"))
	return err == nil && found
}

// Choose gives the names of targets that match, sorted.
func (s Selector) Choose(targets map[string]FileDatabase) []string {
	return slices.DeleteFunc(names(targets), func(name string) bool { return !s.Matches(name, targets[name]) })
}
