package simulation

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

const (
	partVariable  = "ROWRUN_SIMULATION_PART"  // a part for this process: the first seed, how many, for how long at most
	countVariable = "ROWRUN_SIMULATION_COUNT" // how many schedules, whatever they take
	logVariable   = "ROWRUN_SIMULATION_LOG"   // each schedule tells what happened
	// patience is for how long schedules are begun, racedPatience under the race detector, which takes ten times as long for each.
	patience      = 90 * time.Second
	racedPatience = 10 * time.Second
	// repeats is how often a seed that is asked for alone is played at most, until it fails.
	repeats = 50
)

// play plays the schedule of a seed.
func play(t *testing.T, seed uint64, logs bool) (s *sim) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		uuid.SetRand(&bytesOf{dice: roll(seed, 9)})
		s = newSim(seed, logs)
		s.run(t.Context())
	})
	return s
}

// TestSimulation plays 20,000 schedules, or as many as it can in 90 s (10 s under the race detector); a process for each
// processor, as a schedule that is to be repeated has but one.
func TestSimulation(t *testing.T) {
	t.Parallel()
	count, limit := storetest.Count(20_000, 1_000_000), patience
	if raced {
		limit = racedPatience
	}
	if storetest.Soak() && !raced {
		limit = math.MaxInt64
	}
	if text := os.Getenv(countVariable); text != "" {
		var err error
		count, err = strconv.Atoi(text)
		require.NoError(t, err, countVariable)
		limit = math.MaxInt64
	}
	first := uint64(storetest.Seed(t)) //nolint:gosec // any number is one
	parts := min(runtime.NumCPU(), count)
	var mu sync.Mutex
	played, counts := 0, map[string]int{}
	var all sync.WaitGroup
	for i := range parts {
		from, to := count*i/parts, count*(i+1)/parts
		all.Go(func() {
			n, came, err := playPart(t.Context(), first+uint64(from), to-from, limit) //nolint:gosec // few
			mu.Lock()
			defer mu.Unlock()
			played += n
			for what, n := range came {
				counts[what] += n
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%8d %s", counts[what], what)
	}
	t.Logf("%d schedules played", played)
	if t.Failed() || played < 1000 {
		return
	}
	for _, what := range happens() {
		require.NotZero(t, counts[what], "it never happened: %s", what)
	}
}

// happens are what some schedule of a thousand must have met.
func happens() []string {
	return []string{
		"answer lost", "answer too late", "call given up", "call that did not arrive", "call refused with 40P01", "call refused with 57014",
		"cancel asked for", "claim lost to another replica", "clock of the database stepped", "commit that the server lost",
		"connections of listeners cut", "dead replica's row held", "drain", "ending left by a trip", "ending refused",
		"executor stopped: the replica lost contact with the database", "frozen", "listener not connected", "lock waited for",
		"nothing notified for a while", "notification left to a transaction that has committed", "notification left to another transaction", "notification lost", "notification twice", "plan paused",
		"promoted by an end", "promotion lock busy", "replica declared dead", "run canceled before its claim", "run ended as stale",
		"run ended by an app", "run of an app ended as overdue", "server restarted", "session given up by the server",
		"stray ended", "stream: gap: connection lost: closed by the server", "stream: gap: connection lost: no answer in time",
		"stream: gap: the replica that wrote the stream is gone", "stream: gap: the stream could not be written for a while",
		"stream: id drawn long before its run", "stream: ids that nobody uses", "stream: line told again", "stream: lock taken",
		"stream: no answer to LeaveStream", "stream: no answer to OpenStream", "stream: no answer to RecordStreamPosition",
		"stream: no answer to StreamHistory", "stream: no answer to StreamInserts", "stream: no answer to StreamRows",
		"stream: output that nobody reads", "stream: output without room", "stream: run found behind later ones",
		"stream: session that the server goes on with alone", "stream: taken over from where the last writer left it",
		"stream: writer's session ended by the server", "stream: written by another replica", "stream: written when the lock was lost",
		"successor after FAILURE", "successor after SNOOZED", "successor after STALE",
	}
}

// playPart has another process play so many schedules. Its error names the seed.
func playPart(ctx context.Context, first uint64, count int, limit time.Duration) (played int, counts map[string]int, err error) {
	counts = map[string]int{}
	self, err := os.Executable()
	if err != nil {
		return 0, counts, err
	}
	child := exec.CommandContext(ctx, self, "-test.run", "^TestPart$", "-test.timeout", "0")
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d", partVariable, first, count, limit))
	child.Stderr = os.Stderr // the race detector's words
	out, err := child.StdoutPipe()
	if err != nil {
		return 0, counts, err
	}
	if err := child.Start(); err != nil {
		return 0, counts, err
	}
	began, at, rest := time.Now(), "", []string{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		line := lines.Text()
		if seed, is := strings.CutPrefix(line, "seed "); is {
			at = seed
			played++
		} else if came, is := strings.CutPrefix(line, "came "); is {
			n, what, _ := strings.Cut(came, " ")
			more, _ := strconv.Atoi(n)
			counts[what] += more
		} else if len(rest) < 400 {
			rest = append(rest, line)
		}
		if os.Getenv(logVariable) != "" {
			fmt.Println(line)
		}
	}
	_, _ = io.Copy(io.Discard, out)
	if err := child.Wait(); err != nil {
		return played, counts, fmt.Errorf("seed %s, after %d schedules and %s (again: make simulate SEED=%s COUNT=1): %w\n%s",
			at, played, time.Since(began).Round(time.Millisecond), at, err, strings.Join(rest, "\n"))
	}
	return played, counts, nil
}

// TestPart is what playPart asks for; by itself it has nothing to play.
func TestPart(t *testing.T) { //nolint:paralleltest // it is alone in its process
	text, ok := os.LookupEnv(partVariable)
	if !ok {
		return
	}
	var first uint64
	var count int
	var limit time.Duration
	_, err := fmt.Sscanf(text, "%d %d %d", &first, &count, &limit)
	require.NoError(t, err)
	alone()
	counts := map[string]int{}
	began := time.Now()
	logs := os.Getenv(logVariable) != ""
	tries := 1
	if count == 1 { // it is to be repeated: on a busy machine not each try is the same
		tries = repeats
	}
	for i := 0; i < count*tries && time.Since(began) < limit && !t.Failed(); i++ {
		seed := first + uint64(i/tries) //nolint:gosec // above 0
		fmt.Printf("seed %d\n", seed)
		s := play(t, seed, logs)
		for what, n := range s.counts {
			counts[what] += n
		}
		for _, line := range s.log {
			fmt.Println(line)
		}
		for _, failure := range s.failures {
			t.Error(failure)
		}
		if i%50 == 49 {
			runtime.GC()
		}
	}
	for what, n := range counts {
		fmt.Printf("came %d %s\n", n, what)
	}
}

// alone has this process run one goroutine after the other, in an order that nothing but the seed decides, as far as that can be
// had: the garbage collector waits, and nothing is sampled.
func alone() {
	runtime.GOMAXPROCS(1)
	runtime.MemProfileRate = 0
	debug.SetGCPercent(-1)
}
