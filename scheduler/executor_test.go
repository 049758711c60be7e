package scheduler_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

// A payload that doesn't fit ends the run without a retry, and leaves out what the payload holds.
func TestDecodeRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	var p struct{ Width int }
	run := &scheduler.Run{Payload: json.RawMessage(`{"width": 320, "more": true}`)}
	require.NoError(t, run.Decode(&p))
	require.Equal(t, 320, p.Width)
	run.Payload = json.RawMessage(`{"width": "a secret"}`)
	var failure *scheduler.Failure
	require.ErrorAs(t, run.Decode(&p), &failure)
	require.Equal(t, scheduler.CodeBadInput, failure.Code)
	require.False(t, failure.Retryable)
	require.Contains(t, failure.Detail, "Width")
	require.NotContains(t, failure.Detail, "secret")
}
