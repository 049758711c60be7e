package httpexec

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStateGoesThereAndBackInAHeader(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"path": "/"}`: "", `{"path": "/state"}`: "", `{"other": "state"}`: "", `[]`: "",
		`{"state": {"page": 7, "last": "é😀"}}`:                   `{"page":7,"last":"\u00e9\ud83d\ude00"}`,
		`{"state": null}`:                                        "null",
		"{\"state\": \"a\u007fb\"}":                              `"a\u007fb"`, // no header holds that byte
		`{"state": "` + strings.Repeat("x", maxState) + `"}`:     "",
		`{"state": "` + strings.Repeat("x", maxState-2) + `"}`:   `"` + strings.Repeat("x", maxState-2) + `"`,
		`{"state": "` + strings.Repeat("é", maxState/6+1) + `"}`: "",
	} {
		require.Equal(t, want, stateHeader([]byte(payload)), "%.60s", payload)
	}

	answered := func(state string) map[string]any {
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}
		resp.Header.Set("Rowrun-State", state)
		a, err := readAnswer(resp, func() {})
		require.NoError(t, err)
		return a.output()
	}
	require.Equal(t, map[string]any{"page": "é"}, answered(`{"page": "\u00e9"}`)["state"])
	require.NotContains(t, answered(`{"page"`), "state")
	require.NotContains(t, answered(""), "state")
}
