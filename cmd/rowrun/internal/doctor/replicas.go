package doctor

import (
	"context"
	"fmt"
	"slices"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func (d *doctor) checkReplicas(ctx context.Context) error {
	replicas, err := d.store.Replicas(ctx)
	if err != nil {
		return err
	}
	live := 0
	var versions, silent []string
	for _, r := range replicas {
		switch {
		case r.Worker: // it promotes nothing, and each of its claims has a lease of its own
		case r.Live:
			if r.Role == store.RoleWorker {
				live++
			}
			// A program that embeds one may have been built from a source without a version.
			if r.Version != "" && !slices.Contains(versions, r.Version) {
				versions = append(versions, r.Version)
			}
		case r.State != "DEAD":
			silent = append(silent, r.ReplicaID)
		}
	}
	if live == 0 {
		d.add("replicas", Warning, "no replica is alive: nothing runs", "rowrun serve")
	} else {
		d.add("replicas", Fine, fmt.Sprintf("%d replicas are alive", live), "")
	}
	if len(silent) > 0 {
		d.add("replicas", Note, "silent for longer than their lease, their runs will be failed as STALE: "+firstFew(silent), "rowrun status")
	}
	if len(versions) > 1 {
		slices.Sort(versions)
		d.add("replicas", Note, "replicas of several versions are alive: "+firstFew(versions), "rowrun status  # then finish the upgrade")
	}
	return nil
}

func (d *doctor) checkOrphans(ctx context.Context) error {
	orphans, err := d.store.Orphans(ctx)
	if err != nil {
		return err
	}
	for _, o := range orphans {
		target := ""
		if o.Database != "" {
			target = " on database " + o.Database
		}
		d.add("orphans", Warning, fmt.Sprintf("no live replica takes runs of type %s in queue %s%s, such as run %d", o.Type, o.Queue, target, o.RunID), taker(o))
	}
	if len(orphans) == 0 {
		d.add("orphans", Fine, "every run that waits can be taken by a live replica", "")
	}
	return nil
}

// taker says what takes such runs: they are somebody's work, so that none is purged.
func taker(o store.Orphan) string {
	serve := "rowrun serve --queues " + cli.ShellWord(o.Queue)
	switch o.Type {
	case "SQL", "DATABASE_MIGRATE":
		name := o.Database
		if name == "" {
			name = "NAME"
		}
		return serve + " --types " + o.Type + " --config FILE  # which has, under databases: " + name + ": {url: env:NAME_OF_A_VARIABLE}"
	case "COMMAND":
		return serve + " --types COMMAND --config FILE  # which has, under commands, what the tasks name"
	case "HTTP":
		return serve + " --types HTTP --app-url http://127.0.0.1:8080  # where the app is"
	case "NOOP":
		return serve + " --types NOOP"
	}
	return "start the Go program whose replica.Config has " + cli.Quoted(o.Type) + " in Executors and " + cli.Quoted(o.Queue) +
		" in Queues  # see docs/embedding.md; renamed: rowrun type alias"
}
