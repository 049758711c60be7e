package doctor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// silent has no answer, as a check that waits for a lock.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func direct(url string) *database.Config {
	var c database.Config
	c.DirectURL = url
	return &c
}

// A check without an answer is a finding, with whoever locked a table meanwhile; the next ones wait for less time.
func TestACheckWithoutAnAnswerEndsNoOther(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	d := doctor{Config: Config{Database: direct(url)}, patience: time.Millisecond}
	require.NoError(t, d.try(t.Context(), check{name: "first", ask: silent}))
	require.Len(t, d.findings, 1)
	require.Equal(t, "first", d.findings[0].Check)
	require.Equal(t, Warning, d.findings[0].Severity)
	require.Contains(t, d.findings[0].Text, "no answer in time")
	require.NotEmpty(t, d.findings[0].Fix)
	require.Equal(t, blockedPatience, d.patience)

	holder := rowruntest.Connect(t, url)
	rowruntest.Change(t, holder, `BEGIN; LOCK TABLE rowrun.task_run IN ACCESS EXCLUSIVE MODE`)
	d.findings, d.patience = nil, time.Millisecond
	require.NoError(t, d.try(t.Context(), check{name: "second", ask: silent}))
	require.Len(t, d.findings, 2)
	require.Equal(t, "locks", d.findings[0].Check)
	require.Contains(t, d.findings[0].Text, "has locked rowrun.task_run")
	require.Equal(t, "second", d.findings[1].Check)

	d.findings, d.patience = nil, time.Millisecond
	require.NoError(t, d.try(t.Context(), check{name: "third", ask: silent}))
	require.Len(t, d.findings, 1, "who locks is said once")
}

// What isn't the server's is a finding as long as the server answers, and doctor's own end where it doesn't.
func TestOnlyALostDatabaseEndsDoctor(t *testing.T) {
	t.Parallel()
	odd := check{name: "odd", ask: func(context.Context) error { return errors.New("the pooler is away") }}
	d := doctor{Config: Config{Database: direct(storetest.New(t))}, patience: time.Minute}
	require.NoError(t, d.try(t.Context(), odd))
	require.Len(t, d.findings, 1)
	require.Contains(t, d.findings[0].Text, "the pooler is away")
	require.Equal(t, time.Minute, d.patience, "it was told at once")

	d = doctor{Config: Config{Database: direct("postgres://127.0.0.1:1/nothing")}, patience: time.Millisecond}
	require.ErrorIs(t, d.try(t.Context(), check{name: "lost", ask: silent}), context.DeadlineExceeded)
	require.Empty(t, d.findings)
}
