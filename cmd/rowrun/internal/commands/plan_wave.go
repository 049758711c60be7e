package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/store"
)

// waveWords are the waves that `plan apply --to` is told.
type waveWords struct {
	words       []string
	soak        time.Duration
	maxFailures int

	names []string
	place map[string]int // of each target, its wave
}

func (w *waveWords) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&w.words, "wave", nil, "a `wave` of the targets of --to, in order: a number, a percentage of all with those before, or a condition as --to has it; "+
		"what is left is the last one (repeatable)")
	flags.DurationVar(&w.soak, "soak", 0, "how long a wave has to be over before the next one begins")
	flags.IntVar(&w.maxFailures, "max-failures", 0, "with more tasks of a wave FAILED than this no further wave begins")
}

// without refuses what goes with --to only.
func (w *waveWords) without() error {
	if len(w.words) > 0 || w.soak != 0 || w.maxFailures != 0 {
		return cli.Usagef("--wave, --soak and --max-failures go with --to")
	}
	return nil
}

// divide gives each target its wave.
func (w *waveWords) divide(targets []string, known map[string]replica.FileDatabase) error {
	switch {
	case w.soak < 0 || w.maxFailures < 0:
		return cli.Usagef("--soak and --max-failures: accepted: 0 and above")
	case len(w.words) == 0 && (w.soak != 0 || w.maxFailures != 0):
		return cli.Usagef("--soak and --max-failures go with --wave")
	case len(w.words) == 0:
		return nil
	case len(w.words) > 50:
		return cli.Usagef("--wave: at most 50 are accepted")
	}
	w.place = map[string]int{}
	for _, word := range w.words {
		chosen, err := chooseWave(word, targets, w.place, known)
		if err != nil {
			return err
		}
		w.add(word, chosen)
	}
	var rest []string
	for _, target := range targets {
		if _, taken := w.place[target]; !taken {
			rest = append(rest, target)
		}
	}
	if len(rest) > 0 {
		w.add("the rest", rest)
	}
	return nil
}

func (w *waveWords) add(name string, targets []string) {
	for _, target := range targets {
		w.place[target] = len(w.names)
	}
	w.names = append(w.names, name)
}

// chooseWave finds the targets of a wave among those that have none yet.
func chooseWave(word string, targets []string, taken map[string]int, known map[string]replica.FileDatabase) ([]string, error) {
	var left []string
	for _, target := range targets {
		if _, there := taken[target]; !there {
			left = append(left, target)
		}
	}
	percent, isPercent := strings.CutSuffix(word, "%")
	if n, err := strconv.ParseUint(percent, 10, 31); err == nil {
		most := int(n) //nolint:gosec // 31 bits
		if isPercent {
			if most > 100 {
				return nil, cli.Usagef("--wave: %s is more than all", word)
			}
			most = (len(targets)*most+99)/100 - len(taken)
		}
		if most <= 0 {
			return nil, cli.Usagef("--wave: %s adds no target to those of the waves before", word)
		}
		return left[:min(most, len(left))], nil
	}
	selector, err := replica.ParseSelector(word)
	if err != nil {
		return nil, cli.Usagef("--wave: accepted: a number, a percentage, or conditions: %w", err)
	}
	var chosen []string
	for _, target := range left {
		if selector.Matches(target, known[target]) {
			chosen = append(chosen, target)
		}
	}
	if len(chosen) == 0 {
		return nil, cli.Usagef("--wave: %s matches none of the targets that the waves before leave", word)
	}
	return chosen, nil
}

// of gives the waves of tasks that are made. A wave of which nothing is new is left out.
func (w *waveWords) of(wanted store.WantedPlan, made []int) []store.WantedWave {
	if len(w.names) == 0 {
		return nil
	}
	all := make([]store.WantedWave, len(w.names))
	for i, name := range w.names {
		all[i] = store.WantedWave{Name: name, Soak: w.soak, MaxFailures: w.maxFailures}
	}
	for _, position := range made {
		i := w.place[*wanted.Tasks[position].DatabaseID]
		all[i].Tasks = append(all[i].Tasks, position)
	}
	var some []store.WantedWave
	for _, wave := range all {
		if len(wave.Tasks) > 0 {
			some = append(some, wave)
		}
	}
	return some
}

// wave are the commands for a plan whose waves have stopped.
func (p *planCommand) wave() *cobra.Command {
	cmd := cli.Group(&cobra.Command{Use: "wave", Short: "Resume, roll on or give up a plan that is applied in waves"})
	cmd.AddCommand(
		p.moving(store.WavesResume, "runs were made", &cobra.Command{
			Use:   "resume ID|NAME",
			Short: "Run again what FAILED or was CANCELED in the open wave, and print how many; the next one begins when it is over",
		}),
		p.rollOn(),
		p.moving(store.WavesGiveUp, "runs were canceled", &cobra.Command{
			Use:   "give-up ID|NAME",
			Short: "Cancel all that has not ended, and print how many; what is DONE stays as it is",
		}),
	)
	return cmd
}

func (p *planCommand) moving(act, what string, cmd *cobra.Command) *cobra.Command {
	return p.about(planRow, cmd, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		if _, err := findPlan(ctx, s, id); err != nil {
			return err
		}
		n, err := s.MoveWaves(ctx, id, act, "")
		if err != nil {
			return err
		}
		return p.answerMoved(cmd, id, n, what)
	})
}

// answerMoved prints how many runs were made or canceled, or which wave was opened.
func (p *planCommand) answerMoved(cmd *cobra.Command, id, n int64, what string) error {
	return p.answer(cmd, struct {
		PlanID int64  `json:"plan_id"`
		Count  int64  `json:"count"`
		What   string `json:"what"`
	}{id, n, what}, strconv.FormatInt(n, 10))
}

func (p *planCommand) rollOn() *cobra.Command {
	var wave int32
	cmd := p.about(planRow, &cobra.Command{
		Use:   "roll-on ID|NAME",
		Short: "Begin the next wave now, whatever became of the open one, and print which it is",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		if _, err := findPlan(ctx, s, id); err != nil {
			return err
		}
		opened, now := int64(wave), true
		var err error
		if wave == 0 {
			opened, err = s.MoveWaves(ctx, id, store.WavesRollOn, "")
		} else {
			now, err = s.RollOn(ctx, id, wave)
		}
		if err != nil {
			return err
		}
		what := "is open now"
		if !now {
			what = "is open already"
		}
		return p.answerMoved(cmd, id, opened, what)
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("wave") && wave < 1 {
			return cli.Usagef("--wave: accepted: 1 and above")
		}
		return nil
	}
	cmd.Flags().Int32Var(&wave, "wave", 0, "begin `WAVE` only: refused if it is not the next one, and nothing is done if it is open already")
	return cmd
}

// waveTable shows how the waves of a plan stand; none: nothing.
func waveTable(waves []store.PlanWave) cli.Table {
	t := cli.Table{Columns: []cli.Column{
		cli.Whole("WAVE"), cli.Free("NAME"), cli.Whole("STATUS"), cli.Whole("TASKS"), cli.Whole("DONE"), cli.Whole("FAILED"), cli.Whole("OPENS, OR OPENED").Spare(),
	}}
	for _, w := range waves {
		at := w.OpenedAt
		if at == nil {
			at = w.OpensAt
		}
		when := ""
		if at != nil {
			when = cli.Moment(at) + " UTC"
		}
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(w.Wave), w.Name, w.Status, fmt.Sprint(w.Tasks), fmt.Sprint(w.Done), fmt.Sprintf("%d (at most %d)", w.Failed, w.MaxFailures), when,
		})
	}
	return t
}
