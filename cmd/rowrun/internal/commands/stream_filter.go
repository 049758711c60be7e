package commands

import (
	"net/url"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
)

// lineFilter are the flags that say which lines of the stream are wanted. They
// mean what the parameters of /events do.
type lineFilter struct{ given []pflag.Flag }

func (f *lineFilter) register(flags *pflag.FlagSet) {
	for _, flag := range [][2]string{
		{"plan", "only runs of the plan with this `id` or, but with --replica, name"},
		{"task", "only runs of the task with this `id` or name"},
		{"run", "only the run with this `id`, or, of the first of a chain, all of the chain"},
		{"type", "only runs of these `types`, separated by commas"},
		{"status", "only changes to these `statuses`, separated by commas: PENDING, AVAILABLE, RUNNING, DONE, FAILED, CANCELED"},
		{"queue", "only runs of these `queues`, separated by commas"},
		{"database", "only runs on the target database with this `name`"},
	} {
		flags.String(flag[0], "", flag[1])
		f.given = append(f.given, *flags.Lookup(flag[0]))
	}
}

// query are the flags as parameters of /events.
func (f *lineFilter) query() url.Values {
	query := url.Values{}
	for i := range f.given {
		if value := f.given[i].Value.String(); value != "" {
			query.Set(f.given[i].Name, value)
		}
	}
	return query
}

// planName is what --plan says, where that is no id.
func (f *lineFilter) planName() string {
	name := f.query().Get("plan")
	if _, err := strconv.ParseInt(name, 10, 64); err == nil {
		return ""
	}
	return name
}

// parse says what is wanted, of the plan with this id where --plan names it; nil: everything.
func (f *lineFilter) parse(plan int64) (func(line []byte) bool, error) {
	query := f.query()
	if plan != 0 {
		query.Set("plan", strconv.FormatInt(plan, 10))
	}
	if len(query) == 0 {
		return nil, nil
	}
	filter, err := history.ParseFilter(query)
	if err != nil {
		return nil, cli.Usagef("--%w", err)
	}
	return filter.Wants, nil
}
