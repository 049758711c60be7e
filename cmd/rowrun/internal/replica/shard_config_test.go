package replica

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
)

// waysOf are the ways to each shard.
func waysOf(c Config) map[string][2]string {
	ways := map[string][2]string{}
	for _, s := range c.Shards {
		ways[s.Name] = [2]string{s.Database.URL, s.Database.DirectURL}
	}
	return ways
}

func TestShardsAreReadFromFlagsAVariableOrTheFile(t *testing.T) {
	t.Parallel()
	const eu, us, both = "postgres://a@eu/app", "postgres://a@us/app", "postgres://a@one,two:5433/app"
	variables := map[string]string{"US": us}
	c, err := parse(variables, "--shard", "us=env:US", "--shard", "eu="+eu)
	require.NoError(t, err)
	require.Equal(t, []string{"eu", "us"}, c.shardNames(), "in the order of their names")
	require.Equal(t, map[string][2]string{"eu": {eu, eu}, "us": {us, us}}, waysOf(c))
	require.Equal(t, us, c.of(c.Shards[1]).Database.URL)
	require.Empty(t, c.of(c.Shards[1]).Shards)

	variables["ROWRUN_SHARD"] = "ha=" + both + ", eu-1=" + eu + ",us=env:US"
	c, err = parse(variables)
	require.NoError(t, err)
	require.Equal(t, map[string][2]string{"ha": {both, both}, "eu-1": {eu, eu}, "us": {us, us}}, waysOf(c))

	delete(variables, "ROWRUN_SHARD")
	file := rowruntest.ConfigFile(t, "shards: {eu: {url: "+eu+"}, us: {url: env:US, direct_url: "+eu+"}}")
	c, err = parse(variables, "--config", file)
	require.NoError(t, err)
	require.Equal(t, map[string][2]string{"eu": {eu, eu}, "us": {us, eu}}, waysOf(c))
	_, err = parse(variables, "--config", file, "--shard", "eu="+eu)
	require.ErrorContains(t, err, "two ways to say the same")
	_, err = parse(variables, "--config", file, "--database-url", eu)
	require.ErrorContains(t, err, "shards in the file of --config: is not accepted together with --database-url")
}

func TestShardsNeedSlotsForEach(t *testing.T) {
	t.Parallel()
	two := []string{"--shard", "a=postgres://a@a/a", "--shard", "b=postgres://a@b/a"}
	_, err := parse(nil, append(two, "--concurrency", "1")...)
	require.ErrorContains(t, err, "--concurrency: 1 is not accepted with 2 shards")
	_, err = parse(nil, append(two, "--recovery-concurrency", "21")...)
	require.ErrorContains(t, err, "--recovery-concurrency: 21 is not accepted with shards")
	c, err := parse(nil, append(two, "--role", "admin", "--concurrency", "1")...)
	require.NoError(t, err)
	require.Len(t, c.Shards, 2)
	_, err = parse(nil, "--shard", "a")
	require.ErrorContains(t, err, "accepted: NAME=URL")
}
