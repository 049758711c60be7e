package commands

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// leastWatch is how often a screen may be read anew.
const leastWatch = 200 * time.Millisecond

// watched gives a command that shows how things stand a --watch, which shows it again and again.
func (c *client) watched(cmd *cobra.Command) *cobra.Command {
	var every time.Duration
	cmd.Flags().DurationVar(&every, "watch", 0, "show it anew every so often, until Ctrl-C; --watch alone: every 2s")
	cmd.Flags().Lookup("watch").NoOptDefVal = "2s"
	show := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if every == 0 {
			return show(cmd, args)
		}
		if every < leastWatch {
			return cli.Usagef("--watch: %s is not accepted; accepted: a duration of at least %s, written --watch=1s", every, leastWatch)
		}
		return c.watch(cmd, every, func() error { return show(cmd, args) })
	}
	return cmd
}

// watch shows what show writes until Ctrl-C, which is no failure. What goes wrong after the first time is said in its place:
// who watches wants to see when it is over.
func (c *client) watch(cmd *cobra.Command, every time.Duration, show func() error) error {
	to := cmd.OutOrStdout()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for first := true; ; first = false {
		screen := cli.ScreenOf(to, c.lookup) // its size changes
		text, err := c.gathered(cmd, screen, show)
		var wrong *cli.UsageError
		switch {
		case cmd.Context().Err() != nil:
			return nil
		case err != nil && (first || errors.As(err, &wrong)):
			return err
		case err != nil:
			text += cli.Printable(err.Error()) + "\n"
		}
		if err := redraw(to, screen, text, time.Now()); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-tick.C:
		}
	}
}

// gathered is what show writes, in the form for that screen; a word about nothing is part of it.
func (c *client) gathered(cmd *cobra.Command, screen cli.Screen, show func() error) (string, error) {
	var text bytes.Buffer
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	cmd.SetOut(&text)
	cmd.SetErr(&text)
	c.out.For(&screen)
	err := show()
	c.out.For(nil)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return text.String(), err
}

// redraw writes a screen over the one before, or, where the cursor can't be moved, below it.
func redraw(to io.Writer, screen cli.Screen, text string, at time.Time) error {
	head := at.Format("15:04:05")
	if !screen.Moves {
		_, err := fmt.Fprintf(to, "%s\n%s\n", head, text)
		return err
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if most := screen.Height - 2; screen.Height > 3 && len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("… %d lines more", len(lines)-most+1))
	}
	var drawn strings.Builder
	drawn.WriteString("\x1b[H" + screen.Sgr("2", head) + "\x1b[K\n")
	for _, line := range lines {
		drawn.WriteString(line + "\x1b[K\n")
	}
	drawn.WriteString("\x1b[J")
	_, err := io.WriteString(to, drawn.String())
	return err
}
