package main

import (
	"context"
	"fmt"
	"strings"
)

// fill runs statements, separated by semicolons, that may name one number as $1::int; then the statistics are brought up to date.
func (d *database) fill(ctx context.Context, statements string, n int) error {
	for statement := range strings.SplitSeq(statements, ";") {
		var args []any
		if strings.Contains(statement, "$1") {
			args = append(args, n)
		}
		if _, err := d.Exec(ctx, statement, args...); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	return d.do(ctx, "ANALYZE")
}

// settle promotes what can be promoted, until nothing is left to judge, and leaves the tables as autovacuum would. The
// promotion is the function that replicas call.
func (d *database) settle(ctx context.Context) error {
	for {
		var promoted int
		var busy, more bool
		err := d.QueryRow(ctx, "SELECT promoted, busy, more FROM rowrun.promote_runs(false)").Scan(&promoted, &busy, &more)
		if err != nil {
			return fmt.Errorf("promote: %w", err)
		}
		if promoted == 0 && !busy && !more {
			return d.do(ctx, "VACUUM ANALYZE", "CHECKPOINT")
		}
	}
}
