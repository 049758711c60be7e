package connect

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestWaysToTwoDatabasesAreRefused(t *testing.T) {
	t.Parallel()
	url, other := storetest.New(t), storetest.New(t)
	open := func(direct string) error {
		w := Way{URL: url, DirectURL: direct, Source: "--database-url", DirectSource: "--direct-url"}
		s, _, err := w.Open(t.Context(), store.Config{MaxConns: 5}, zerolog.Nop())
		if err == nil {
			s.Close()
		}
		return err
	}
	for _, wrong := range []string{other, storetest.Empty(t)} { // of another deployment, of none
		require.ErrorContains(t, open(wrong), "--direct-url leads to another database, "+Place(wrong)+", than --database-url, "+Place(url))
	}
	require.NoError(t, open(url+strings.Repeat("&", strings.Count(url, "?"))+"application_name=direct"), "the same by another address")
}
