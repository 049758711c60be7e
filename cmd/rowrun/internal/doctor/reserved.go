package doctor

import (
	"context"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// checkReserved names queues where no slot is left to runs of low priorities. Where there is none there is nothing to say.
func (d *doctor) checkReserved(ctx context.Context) error {
	queues, err := d.store.ReservedQueues(ctx)
	if err != nil {
		return err
	}
	for _, q := range queues {
		d.add("replicas", Warning, fmt.Sprintf("every live replica of queue %s reserves all of its slots: no run below priority %d starts", q.Queue, q.Priority),
			"rowrun serve --queues "+cli.ShellWord(q.Queue)+"  # with fewer slots in --reserve than --concurrency")
	}
	return nil
}
