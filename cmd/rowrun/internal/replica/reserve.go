package replica

import (
	"strconv"
	"strings"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/scheduler"
)

// validateReserve reads --reserve, which an admin has no use for.
func (c *Config) validateReserve() error {
	c.Reserve = nil
	all, named := 0, map[int]bool{}
	for _, text := range c.reserve {
		priority, slots, ok := readReserve(text)
		if !ok || named[priority] {
			return cli.Usagef("--reserve: %q is not accepted; accepted: a priority and a number of slots, each priority once, such as 50=4 or 50=4,100=2", text)
		}
		named[priority] = true
		all = min(all+slots, max(c.Concurrency, c.RecoveryConcurrency)+1)
		if !c.Admin() {
			c.Reserve = append(c.Reserve, scheduler.Reserve{Priority: priority, Slots: slots})
		}
	}
	if all > c.Concurrency {
		return cli.Usagef("--reserve: %s is not accepted; accepted: together at most --concurrency (%d) slots", strings.Join(c.reserve, ","), c.Concurrency)
	}
	if c.RecoveryConcurrency > 0 && all > c.RecoveryConcurrency {
		return cli.Usagef("--reserve: %s is not accepted; accepted: together at most --recovery-concurrency (%d) slots", strings.Join(c.reserve, ","), c.RecoveryConcurrency)
	}
	return nil
}

func readReserve(text string) (priority, slots int, ok bool) {
	left, right, _ := strings.Cut(text, "=")
	p, err := strconv.ParseInt(strings.TrimSpace(left), 10, 32)
	if err != nil {
		return 0, 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(right), 10, 32)
	return int(p), int(n), err == nil && n > 0
}
