package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A hand-over waits for its own row alone: in a group with ends of its plan it would hold these up.
func TestEndsOfAPlanDontWaitForItsHandOvers(t *testing.T) {
	t.Parallel()
	plan := int64(1)
	groups := byPlan([]ending{{plan: &plan}, {plan: &plan, handOver: true}, {plan: &plan}, {}})
	require.Equal(t, [][]ending{{{plan: &plan}, {plan: &plan}}, {{plan: &plan, handOver: true}}, {{}}}, groups)
}
