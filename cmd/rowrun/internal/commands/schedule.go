package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func newSchedule(env cli.Environment) *cobra.Command {
	c := scheduleCommand{newClient(env)}
	cmd := cli.Group(&cobra.Command{
		Use:   "schedule",
		Short: "List recurring tasks, see what comes next, import a crontab, run, pause or resume one",
	})
	c.register(cmd.PersistentFlags())
	cmd.AddCommand(c.list(), c.next(), c.imports(), c.run(), c.pause(), c.resume())
	return cmd
}

// scheduleCommand is what the commands under schedule have in common. Their ID is a task's.
type scheduleCommand struct{ client }

func findSchedule(ctx context.Context, s *store.Store, id int64) (store.Schedule, error) {
	found, err := s.FindSchedule(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return found, &absentError{fmt.Sprintf("there is no task %d with a schedule", id)}
	}
	return found, err
}

func (c *scheduleCommand) list() *cobra.Command {
	limit := 50
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List recurring tasks, the newest first",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			return c.ask(cmd, func(ctx context.Context, s *store.Store) error {
				found, err := s.ListSchedules(ctx, limit)
				if err != nil {
					return err
				}
				return c.out.Write(cmd, found, scheduleTable(found, time.Now()))
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "most tasks to list")
	return c.watched(cmd)
}

func (c *scheduleCommand) next() *cobra.Command {
	var task string
	cmd := &cobra.Command{
		Use:   "next N",
		Short: "Show the next N runs of all schedules, or the next N ticks of one",
		Args:  cli.Arguments("N"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 || n > 10000 {
				return cli.Usagef("%s: %q is not accepted; accepted: a whole number, 1 to 10000", cmd.CommandPath(), args[0])
			}
			return c.ask(cmd, func(ctx context.Context, s *store.Store) error {
				if task != "" {
					id, err := resolve(ctx, cmd, s, taskRow, task)
					if err != nil {
						return err
					}
					return c.ticks(ctx, cmd, s, id, n)
				}
				found, err := s.NextSchedules(ctx, n)
				if err != nil {
					return err
				}
				return c.out.Write(cmd, found, scheduleTable(found, time.Now()))
			})
		},
	}
	cmd.Flags().StringVar(&task, "task", "", "only ticks of the task of this `id or name`")
	return cmd
}

// ticks shows when a schedule is due, by its own clock.
func (c *scheduleCommand) ticks(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64, n int) error {
	if _, err := findSchedule(ctx, s, id); err != nil {
		return err
	}
	ticks, err := s.Ticks(ctx, id, n)
	if err != nil {
		return err
	}
	t := cli.Table{Columns: []cli.Column{cli.Whole("TICK")}, None: "no tick comes"}
	for _, at := range ticks {
		t.Rows = append(t.Rows, []string{at.UTC().Format(time.RFC3339Nano)})
	}
	return c.out.Write(cmd, ticks, t)
}

func (c *scheduleCommand) run() *cobra.Command {
	return c.about(taskRow, &cobra.Command{
		Use:   "run ID|NAME",
		Short: "Run a recurring task now, beside its schedule, and print the run's id",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		if _, err := findSchedule(ctx, s, id); err != nil {
			return err
		}
		run, err := s.RunNow(ctx, id)
		if err != nil {
			return err
		}
		return c.answer(cmd, struct {
			RunID int64 `json:"run_id"`
		}{run}, strconv.FormatInt(run, 10))
	})
}

func (c *scheduleCommand) pause() *cobra.Command {
	return c.pausing(&cobra.Command{
		Use:   "pause ID|NAME",
		Short: "Start no further run of a recurring task",
	}, true)
}

func (c *scheduleCommand) resume() *cobra.Command {
	return c.pausing(&cobra.Command{
		Use:   "resume ID|NAME",
		Short: "Let a recurring task go on; what becomes of the ticks that it missed, its misfire says",
	}, false)
}

func (c *scheduleCommand) pausing(cmd *cobra.Command, paused bool) *cobra.Command {
	return c.about(taskRow, cmd, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		if _, err := findSchedule(ctx, s, id); err != nil {
			return err
		}
		if err := s.PauseTask(ctx, id, paused); err != nil {
			return err
		}
		found, err := findSchedule(ctx, s, id)
		if err != nil {
			return err
		}
		return c.answer(cmd, found, scheduleStanding(found))
	})
}

func scheduleTable(found []store.Schedule, now time.Time) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{
			cli.Whole("TASK"), cli.Free("NAME"), cli.Free("SCHEDULE"), cli.Free("ZONE").Spare(), cli.Whole("SPREAD").Wide(), cli.Whole("NEXT"), cli.Whole("AT").Wide(), cli.Whole("RUN"), cli.Free("STANDING"),
		},
		None: "no recurring task: `rowrun task define NAME --schedule '0 3 * * *' …` makes one",
	}
	for _, s := range found {
		t.Rows = append(t.Rows, []string{
			strconv.FormatInt(s.TaskID, 10), s.Name, s.Schedule, s.TimeZone, milliseconds(s.SpreadMS, "none"), cli.Age(now, s.RunAt), cli.Moment(s.RunAt), number(s.RunID), scheduleStanding(s),
		})
	}
	return t
}

// scheduleStanding is how a schedule stands in words.
func scheduleStanding(s store.Schedule) string {
	switch {
	case s.Error != nil:
		return "paused: " + *s.Error
	case s.Paused:
		return "paused"
	case s.Status == nil:
		return "nothing to come"
	}
	return *s.Status
}
