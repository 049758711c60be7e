package bench

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPercentilesAreValuesThatWereMeasured(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 4, 2, 3}
	for p, want := range map[float64]float64{0: 1, 20: 1, 50: 3, 95: 5, 99: 5, 100: 5} {
		require.InDelta(t, want, percentile(values, p), 0, "p%g", p)
	}
	require.Equal(t, []float64{5, 1, 4, 2, 3}, values, "the order is the caller's")
	require.InDelta(t, 3, median(values), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 0)
	require.Zero(t, percentile(nil, 50))
	require.Zero(t, median(nil))
}

func TestFigureIsTheMedianOfItsRounds(t *testing.T) {
	t.Parallel()
	c := &Case{Name: "one"}
	for _, round := range []float64{30, 10, 20} {
		c.add("rate", "runs/s", round)
	}
	f := c.figure("rate")
	require.Equal(t, []float64{20, 10, 30}, []float64{f.Value, f.Least, f.Most})
	half := &Case{Name: "half"}
	half.add("rate", "runs/s", 10)
	half.compare("of_one", "rate", c)
	require.InDelta(t, 50, half.figure("of_one").Value, 0)
	half.compare("of_nothing", "rate", &Case{})
	require.Nil(t, half.figure("of_nothing"), "nothing to compare with")
}

func TestTableShowsRangesAndLeavesOutWhatACaseDoesNotHave(t *testing.T) {
	t.Parallel()
	first, second := &Case{Name: "first", Runs: 20}, &Case{Name: "second", Runs: 10}
	first.add("rate", "runs/s", 1000)
	first.add("rate", "runs/s", 2000)
	second.add("rate", "runs/s", 12.34)
	second.add("cpu_per_run", "µs", 0.5)
	var out bytes.Buffer
	m := Measurement{Name: "drain", About: "about it", Cases: []*Case{first, second}, Notes: []string{"something"}, Seconds: 2}
	require.NoError(t, m.Write(&out))
	require.Equal(t, "\ndrain: about it (2 s)\n"+
		"CASE    RUNS  RATE runs/s          CPU/RUN µs\n"+
		"first   20    1500 (1000 to 2000)  -\n"+
		"second  10    12.3                 0.500\n"+
		"note: something\n", out.String())
}

func TestIntroductionSaysWhatIsMeasuredOnWhat(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, Report{
		Program: Program{Version: "v1", Go: "go1", Platform: "linux/amd64", Cores: 2},
		Server: Server{
			Version: "15.1", SchemaVersion: 14, Settings: []Setting{{"fsync", "on"}, {"wal_level", "logical"}},
			Runs: 7, RunBytes: 1 << 20, DatabaseBytes: 1 << 30, Stream: true,
		},
		Sizes: Sizes{2000, 100, 1.5, 8, 1, 3, 20},
		Notes: []string{"something"},
	}.Introduce(&out))
	require.Equal(t, "rowrun v1, go1, linux/amd64, 2 cores; stream on\n"+
		"PostgreSQL 15.1, schema version 14; fsync = on, wal_level = logical\n"+
		"rowrun.task_run about 7 rows, 1.00 MiB; database 1024 MiB\n"+
		"--runs 2000, --rate 100, --duration 1.5s, --writers 8, --replicas 1, --concurrency 20, --rounds 3: medians (least to most)\n"+
		"note: something\n", out.String())
}

func TestSharesAddUpToTheTotal(t *testing.T) {
	t.Parallel()
	for _, total := range []int{0, 1, 7, 1000} {
		for n := 1; n < 12; n++ {
			sum := 0
			for i := range n {
				sum += share(total, n, i)
			}
			require.Equal(t, total, sum, "%d among %d", total, n)
		}
	}
}

func TestNamesAreFoundByTheirPatternOnly(t *testing.T) {
	t.Parallel()
	require.Equal(t, `rowrun\_bench\_0a1b2c3d%`, like("rowrun_bench_0a1b2c3d"))
}
