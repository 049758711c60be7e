package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

func TestWrongUseExitsWithTwoAndNamesWhatIsAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		variables  map[string]string
		args       []string
	}{
		{name: "nothing", args: nil, says: "a command is missing"},
		{name: "unknown command", args: []string{"migrat"}, says: "did you mean migrate?"},
		{name: "a word in the wrong place", args: []string{"why", "8"}, says: "did you mean rowrun run why?"},
		{name: "turned letters", args: []string{"sreve"}, says: "did you mean serve?"},
		{name: "misspelt flag", args: []string{"version", "--outptu", "json"}, says: "did you mean --output?"},
		{name: "misspelt status", args: []string{"run", "list", "--status", "FALIED"}, says: "did you mean FAILED?"},
		{name: "unknown sub-command", args: []string{"migrate", "upp"}, says: `accepted after "rowrun migrate": deployment, down, force, grants, repair, sql, status, up`},
		{name: "help on nothing that is there", args: []string{"help", "sreve"}, says: "did you mean serve?"},
		{name: "help on an unknown sub-command", args: []string{"help", "run", "lits"}, says: `unknown command "lits"; accepted after "rowrun run"`},
		{name: "unknown flag", args: []string{"version", "--nope"}, says: "unknown flag: --nope; see rowrun version --help"},
		{name: "unknown short flag", args: []string{"version", "-x"}, says: "see rowrun version --help"},
		{name: "bad value", args: []string{"version", "-o", "xml"}, says: `--output: "xml" is not accepted; accepted: table, wide, json, yaml, name`},
		{name: "missing value", args: []string{"version", "-o"}, says: "--output: a value is missing; accepted: table, wide, json, yaml, name"},
		{name: "bad variable", args: []string{"version"}, variables: map[string]string{"ROWRUN_OUTPUT": "xml"}, says: `ROWRUN_OUTPUT: "xml" is not accepted; accepted: table, wide, json, yaml, name`},
		{name: "argument too many", args: []string{"version", "now"}, says: "rowrun version: 1 arguments given; accepted: no arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := rowrun(t.Context(), t, c.variables, c.args...)
			require.Equal(t, cli.ExitUsage, got.Code, got.Stderr)
			require.Contains(t, got.Stderr, c.says)
			require.Empty(t, got.Stdout)
		})
	}
}

func TestFlagWinsOverVariableWinsOverDefault(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"ROWRUN_OUTPUT": "json"}
	require.True(t, json.Valid([]byte(rowrun(t.Context(), t, variables, "version").Stdout)))
	require.False(t, json.Valid([]byte(rowrun(t.Context(), t, variables, "version", "-o", "table").Stdout)))
	require.False(t, json.Valid([]byte(rowrun(t.Context(), t, nil, "version").Stdout)))
	require.False(t, json.Valid([]byte(rowrun(t.Context(), t, map[string]string{"ROWRUN_OUTPUT": ""}, "version").Stdout)),
		"an empty variable is not set")
}

func TestHelpExitsWithZero(t *testing.T) {
	t.Parallel()
	got := rowrun(t.Context(), t, nil, "--help")
	require.Equal(t, cli.ExitDone, got.Code)
	require.Contains(t, got.Stdout, "ROWRUN_STALE_AFTER")
	require.Empty(t, got.Stderr)
	got = rowrun(t.Context(), t, nil, "help", "run", "create")
	require.Equal(t, cli.ExitDone, got.Code)
	require.Contains(t, got.Stdout, "--after")
	require.NotContains(t, got.Stdout, "default []")
}
