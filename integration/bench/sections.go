package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// section is one measurement of a suite.
type section struct {
	name, about string
	run         func(*bench, context.Context) error
}

const (
	ownSuite   = "own"
	peersSuite = "peers"
	weekSuite  = "week"
)

func ownSections() []section {
	return []section{
		{"latency", "insert to start on an idle replica", (*bench).latency},
		{"successor", "a run ends on one replica, its successor starts on another", (*bench).successor},
		{"drain", "jobs inserted beforehand, one replica, in alternating rounds", (*bench).drain},
		{"blocked", "one promote pass and one end beside many blocked runs", (*bench).blocked},
		{"others", "the same work with and without many runs of a type that nobody has", (*bench).others},
		{"limits", "runs with a limit, beside runs without one", (*bench).limits},
		{"stream", "from a commit to its line, and what waking costs those who insert", (*bench).stream},
		{"idle", "a replica without work", (*bench).idle},
		{"schedules", "recurring tasks that are due in the same second", (*bench).schedules},
		{"workers", "programs that claim and end by functions", (*bench).workers},
		{"replicas", "many replicas on one server, idle and while single runs come", (*bench).replicas},
		{"cores", "what runs ask of one core and of two, and what more would do", (*bench).cores},
		{"scale", "shards that work off 1,000,000 runs a second, simulated from what a run costs here", (*bench).scale1M},
		{"large", "beside so many runs that wait and that ended", (*bench).large},
		{"plans", "what a plan adds to its runs, a look at one, and how soon its end is told", (*bench).plans},
	}
}

func peersSections() []section {
	return []section{
		{"drain", "jobs inserted beforehand, one replica, in alternating rounds", (*bench).drain},
		{"gates", "the same with gates, beside what has none", (*bench).gates},
		{"single", "one job per claim and per end on both sides, 24 slots", (*bench).single},
		{"arrival", "insert to start of single jobs, idle worker", (*bench).arrival},
		{"burst", "500 jobs at once, 10 slots, defaults otherwise", (*bench).bursts},
		{"flood", "insert to start at 1,000 single inserts/s, three replicas", (*bench).flood},
		{"due", "how late jobs start that were inserted for later", (*bench).due},
		{"serial", "chains whose steps can't overlap", (*bench).serial},
		{"kept", "beside what has ended, and with an old snapshot held open", (*bench).kept},
		{"footprint", "the most memory that a replica holds while it works a backlog off", (*bench).footprint},
	}
}

// choose returns the sections of a suite that are named, all where none is.
func choose(suite, only string) ([]section, error) {
	var all []section
	switch suite {
	case ownSuite:
		all = ownSections()
	case peersSuite:
		all = peersSections()
	case weekSuite:
		all = []section{{"week", "a week in small: schedules, plans, bursts, failures, restarts", (*bench).week}}
	default:
		return nil, fmt.Errorf("-suite: %q is not accepted; accepted: own, peers, week", suite)
	}
	if strings.TrimSpace(only) == "" {
		return all, nil
	}
	var chosen []section
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(s section) bool { return s.name == strings.TrimSpace(name) })
		if i < 0 {
			known := make([]string, 0, len(all))
			for _, s := range all {
				known = append(known, s.name)
			}
			return nil, fmt.Errorf("-only: %q is not accepted; accepted: %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
