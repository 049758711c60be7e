package replica

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func lookupNothing(string) (string, bool) { return "", false }

func TestFleetSourcesAreReadAgainAndKeepWhatTheyGaveWhenTheyFail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := filepath.Join(dir, "list.yaml")
	folder := filepath.Join(dir, "targets")
	require.NoError(t, os.Mkdir(folder, 0o750))
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(list, "a: {url: 'postgres://h/a', labels: {env: prod}}\nfixed: {url: 'postgres://h/other'}\n")
	write(filepath.Join(folder, "b"), "mysql://u@h/b\n")
	write(filepath.Join(folder, "c.yaml"), "{url: 'postgres://h/c', labels: {env: test}}")
	write(filepath.Join(folder, ".hidden"), "no")

	c := &Config{lookup: lookupNothing, File: File{
		Databases: map[string]FileDatabase{"fixed": {URL: "postgres://h/fixed"}},
		DatabasesFrom: []FleetSource{
			{File: list, Labels: map[string]string{"from": "list"}, Refresh: 1, LockTimeout: 7},
			{Directory: folder, Refresh: 1},
		},
	}}
	f := newFleet(c, zerolog.Nop())
	f.grace = -1
	var used map[string]FileDatabase
	f.use = func(all map[string]FileDatabase) error { used = all; return nil }
	f.refresh(t.Context())
	require.Equal(t, []string{"a", "b", "c", "fixed"}, names(f.now))
	require.Equal(t, map[string]string{"env": "prod", "from": "list"}, f.now["a"].Labels)
	require.EqualValues(t, 7, f.now["a"].LockTimeout)
	require.Equal(t, "postgres://h/fixed", f.now["fixed"].URL, "databases come before databases_from")
	require.Equal(t, map[string]string{"b": "MySQL"}, enginesOf(f.now))

	write(list, "{")
	require.NoError(t, os.Remove(filepath.Join(folder, "b")))
	f.refresh(t.Context())
	require.Equal(t, []string{"a", "c", "fixed"}, names(f.now), "a file that can't be read changes nothing")
	require.Contains(t, used, "b", "a run on it may just have been claimed")
	f.refresh(t.Context())
	require.NotContains(t, used, "b")
}

func TestFleetSetsTargetsAsideUntilTheyCanBeReached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(&Config{File: File{Databases: map[string]FileDatabase{"fixed": {}}}}, zerolog.Nop())
		f.now["a"], f.now["b"] = FileDatabase{}, FileDatabase{}
		var mu sync.Mutex
		var reached []string
		var aside map[string]string
		f.announce = func(r map[string]FileDatabase, a map[string]string) {
			mu.Lock()
			defer mu.Unlock()
			reached, aside = names(r), a
		}
		var asked []time.Duration
		began, back := time.Now(), false
		f.probe = func(context.Context, FileDatabase) error {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, time.Since(began))
			if back {
				return nil
			}
			return errors.New("refused")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- f.Run(ctx) }()
		f.unreachable("a", errors.New("connection refused"))
		f.unreachable("fixed", errors.New("connection refused"))
		f.unreachable("gone", errors.New("connection refused"))
		synctest.Wait()
		mu.Lock()
		require.Equal(t, []string{"b", "fixed"}, reached)
		require.Equal(t, map[string]string{"a": "connection refused"}, aside)
		mu.Unlock()
		passed(6 * time.Second)
		synctest.Wait()
		mu.Lock()
		require.Equal(t, []time.Duration{firstAside}, asked)
		back = true
		mu.Unlock()
		passed(10 * time.Second)
		synctest.Wait()
		mu.Lock()
		require.Equal(t, []time.Duration{firstAside, 3 * firstAside}, asked, "twice as long each time")
		require.Equal(t, []string{"a", "b", "fixed"}, reached)
		require.Empty(t, aside)
		mu.Unlock()
		cancel()
		require.NoError(t, <-done)
	})
}

// What is known of one target is told while others are still waited for: a retry of a run on it would otherwise come first.
func TestFleetTellsOfATargetWhileOthersDoNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(&Config{File: File{Databases: map[string]FileDatabase{}}}, zerolog.Nop())
		for _, name := range []string{"hangs", "back", "lost"} {
			f.now[name] = FileDatabase{URL: name}
		}
		var mu sync.Mutex
		var reached []string
		f.announce = func(r map[string]FileDatabase, _ map[string]string) {
			mu.Lock()
			defer mu.Unlock()
			reached = names(r)
		}
		told := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return reached
		}
		f.probe = func(ctx context.Context, target FileDatabase) error {
			if target.URL != "hangs" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		f.unreachable("hangs", errors.New("no answer"))
		f.unreachable("back", errors.New("connection refused"))
		require.Equal(t, []string{"lost"}, told())
		passed(firstAside + time.Second)
		require.Equal(t, []string{"back", "lost"}, told(), "the other one is still asked")
		f.unreachable("lost", errors.New("connection refused"))
		require.Equal(t, []string{"back"}, told())
		cancel()
		require.NoError(t, <-done)
	})
}

func TestFleetAsksAtOnceForATargetThatLeadsElsewhereNow(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "list.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(list, []byte(text), 0o600)) }
	write("a: {url: 'postgres://wrong/a'}\nb: {url: 'postgres://wrong/b'}\n")
	f := newFleet(&Config{lookup: lookupNothing, File: File{DatabasesFrom: []FleetSource{{File: list, Refresh: 1}}}}, zerolog.Nop())
	f.use = func(map[string]FileDatabase) error { return nil }
	f.announce = func(map[string]FileDatabase, map[string]string) {}
	var asked []string
	f.probe = func(_ context.Context, target FileDatabase) error {
		asked = append(asked, target.URL)
		return nil
	}
	f.refresh(t.Context())
	f.unreachable("a", errors.New("connection refused"))
	f.unreachable("b", errors.New("connection refused"))
	f.refresh(t.Context())
	f.ask(t.Context())
	require.Empty(t, asked, "their time has not come")
	write("a: {url: 'postgres://right/a'}\nb: {url: 'postgres://wrong/b'}\n")
	f.refresh(t.Context())
	f.ask(t.Context())
	require.Equal(t, []string{"postgres://right/a"}, asked)
}

// passed lets time of a synctest bubble pass.
func passed(d time.Duration) { <-time.After(d) }

func TestARowOfACatalogueNamesServersOnly(t *testing.T) {
	t.Parallel()
	s := FleetSource{Query: "SELECT", Target: "postgres://u:p@h/d?search_path={name}"}
	target, err := s.target(map[string]string{"name": "a b&c", "env": "prod", "labels": `{"tier": "free"}`})
	require.NoError(t, err)
	require.Equal(t, "postgres://u:p@h/d?search_path=a%20b%26c", target.URL)
	require.Equal(t, map[string]string{"env": "prod", "tier": "free"}, target.Labels)
	s.Target = "postgres://{host}/d"
	_, err = s.target(map[string]string{"name": "a"})
	require.ErrorContains(t, err, "{host}")
	s.Target = ""
	for _, url := range []string{"", "env:SECRET", "file:/etc/passwd", "sqlite:/a", "host=h passfile=/x"} {
		_, err = s.target(map[string]string{"name": "a", "url": url})
		require.Error(t, err, url)
	}
}

func TestSelectorsChooseByLabels(t *testing.T) {
	t.Parallel()
	all := map[string]FileDatabase{
		"a": {Labels: map[string]string{"env": "prod", "tier": "free"}},
		"b": {Labels: map[string]string{"env": "prod"}},
		"c": {},
	}
	for text, want := range map[string][]string{
		"env=prod": {"a", "b"}, "env=prod,tier!=free": {"b"}, "tier": {"a"}, "!env": {"c"}, "env!=prod": {"c"}, "name=a|c": {"a", "c"}, "env=p*": {"a", "b"},
	} {
		s, err := ParseSelector(text)
		require.NoError(t, err)
		require.Equal(t, want, s.Choose(all), text)
	}
	for _, text := range []string{"", "=a", "a b", "env=[x]", "env==prod"} {
		_, err := ParseSelector(text)
		require.Error(t, err, text)
	}
}
