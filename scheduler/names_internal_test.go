package scheduler

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestIDsOfReplicasAreTextOfTheDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "one", strings.Repeat("x", 61), "x" + strings.Repeat("é", 60), "\xff"} {
		id := newReplicaID(name)
		require.True(t, utf8.ValidString(id), "%q", id)
		require.LessOrEqual(t, len(id), 100, "the column's limit")
	}
}

func TestNamesThatNoColumnTakesAreRefused(t *testing.T) {
	t.Parallel()
	good := func() Config { return Config{Executors: map[string]Executor{"MINE": Noop{}}} }
	c := good()
	require.NoError(t, c.Check())
	for _, bad := range []struct {
		change func(*Config)
		says   string
	}{
		{func(c *Config) { c.Name = strings.Repeat("x", 201) }, "name: has 201 bytes; accepted: at most 200"},
		{func(c *Config) { c.Name = "a\x00b" }, `name: "a\x00b" is not accepted`},
		{func(c *Config) { c.Queues = []string{"a", ""} }, "queues: a name is empty"},
		{func(c *Config) { c.Queues = []string{strings.Repeat("x", 101)} }, "queues: a name has 101 bytes; accepted: at most 100"},
		{func(c *Config) { c.Queues = []string{"a\tb"} }, `queues: "a\tb" is not accepted`},
		{func(c *Config) { c.Executors = map[string]Executor{"\xff": Noop{}} }, `executors: "\xff" is not accepted`},
		{func(c *Config) { c.Executors = map[string]Executor{"MINE": nil} }, `executors: that of "MINE" is nil`},
		{func(c *Config) { c.Executors = nil }, "at least one executor is required"},
		{func(c *Config) { c.DrainTimeout = -1 }, "drain timeout must be above zero"},
	} {
		c := good()
		bad.change(&c)
		require.ErrorContains(t, c.Check(), bad.says)
	}
}
