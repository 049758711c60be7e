package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

const (
	// gridLife is for how long a plan's tasks are not read again, however many pages ask.
	gridLife = time.Second
	// maxErrors is how many errors of a plan are numbered before that begins anew.
	maxErrors = 1000
	// maxGrids is how many plans are kept: the last that were asked for.
	maxGrids = 8
)

// grids are the plans that pages look at.
type grids struct {
	mu   sync.Mutex
	kept []*grid // the last asked for first
}

// grid is a plan's tasks as they were read last, and in which reading each of them changed.
type grid struct {
	plan int64
	head kept[planPage] // what its page shows besides

	mu      sync.Mutex
	at      time.Time
	boot    string // tokens of another grid mean nothing here
	reading int
	tasks   []store.GridTask // by id
	changed []int
	whole   int // the reading since which no task came, went, or moved to another place

	// groups number the errors that were told: a number stays, so that it needn't be told again of tasks that didn't change.
	groups map[errorKey]int
	errors []errorKey
}

// of reads a plan's tasks, unless that was done a moment ago.
func (g *grids) of(ctx context.Context, s *store.Store, plan int64) (*grid, error) {
	g.mu.Lock()
	i := slices.IndexFunc(g.kept, func(one *grid) bool { return one.plan == plan })
	one := &grid{plan: plan, boot: rand.Text()[:8], head: kept[planPage]{life: gridLife}}
	if i >= 0 {
		one = g.kept[i]
		g.kept = slices.Delete(g.kept, i, i+1)
	}
	g.kept = slices.Insert(g.kept, 0, one)
	g.kept = g.kept[:min(len(g.kept), maxGrids)]
	g.mu.Unlock()

	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.at.IsZero() && time.Since(one.at) < gridLife {
		return one, nil
	}
	tasks, err := s.Grid(ctx, plan)
	if err != nil {
		return nil, err
	}
	one.take(tasks)
	return one, nil
}

// forget has what is kept be read again: somebody acted, and looks.
func (g *grids) forget() {
	g.mu.Lock()
	all := slices.Clone(g.kept)
	g.mu.Unlock()
	for _, one := range all {
		one.head.forget()
		one.mu.Lock()
		one.at = time.Time{}
		one.mu.Unlock()
	}
}

// take remembers what was read, and what differs from what was read before. g.mu is held.
func (g *grid) take(tasks []store.GridTask) {
	g.reading++
	changed := make([]int, len(tasks))
	same := len(tasks) == len(g.tasks)
	for i := range tasks {
		changed[i] = g.reading
		if same = same && sits(&g.tasks[i], &tasks[i]); same && equal(&g.tasks[i], &tasks[i]) {
			changed[i] = g.changed[i]
		}
	}
	if !same || len(g.errors) > maxErrors {
		g.whole = g.reading
		g.groups, g.errors = map[errorKey]int{}, nil
	}
	g.tasks, g.changed, g.at = tasks, changed, time.Now()
}

// sits says that it is the same task where it was: databases, versions and types are told by their places among all of them.
func sits(a, b *store.GridTask) bool {
	return a.ID == b.ID && a.DatabaseID == b.DatabaseID && a.Version == b.Version && a.Type == b.Type
}

// equal says that nothing changed that is shown.
func equal(a, b *store.GridTask) bool {
	x, y := *a, *b
	same := func(p, q *time.Time) bool { return (p == nil) == (q == nil) && (p == nil || p.Equal(*q)) }
	if !same(x.StartedAt, y.StartedAt) || !same(x.EndedAt, y.EndedAt) || !same(x.Since, y.Since) {
		return false
	}
	x.StartedAt, x.EndedAt, x.Since, x.Now = nil, nil, nil, time.Time{}
	y.StartedAt, y.EndedAt, y.Since, y.Now = nil, nil, nil, time.Time{}
	return x == y
}

// columns are tasks as they are answered.
type columns struct {
	ID         []string  `json:"id"`
	Name       []string  `json:"name"`
	Type       []int     `json:"type"`
	Database   []int     `json:"database"`
	Version    []int     `json:"version"`
	Status     []string  `json:"status"`
	Paused     []int     `json:"paused"`
	RunID      []*string `json:"run_id"`
	Attempt    []int     `json:"attempt"`
	DurationMS []*int64  `json:"duration_ms"`
	Since      []*int64  `json:"since"`
	Cause      []*string `json:"cause"`
	ErrorGroup []int     `json:"error_group"`
}

type errorGroup struct {
	Text  string  `json:"text"`
	Code  *string `json:"code"`
	Count int     `json:"count"`
}

// gridAnswer is a plan in columns.
type gridAnswer struct {
	Token     string            `json:"token"`
	Full      bool              `json:"full"`
	Databases []string          `json:"databases"`
	Versions  []string          `json:"versions"`
	Types     []string          `json:"types"`
	Tasks     columns           `json:"tasks"`
	Errors    []errorGroup      `json:"errors"`
	Counts    store.BoardCounts `json:"counts"`
	Capped    bool              `json:"capped"`
}

func (s *server) getGrid(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	w := query(r)
	since := w.text("since")
	if err := w.done(); err != nil {
		return nil, err
	}
	g, err := s.grids.of(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	if len(g.tasks) == 0 { // a plan without tasks, or none at all
		if _, err := s.store.FindBoardPlan(ctx, id); err != nil {
			return nil, err
		}
	}
	return g.answer(since, s.config.HideData), nil
}

// answer tells what changed since a token, or everything where that isn't known.
func (g *grid) answer(since string, hide bool) gridAnswer {
	g.mu.Lock()
	defer g.mu.Unlock()
	from := 0
	if boot, number, found := strings.Cut(since, "."); found && boot == g.boot {
		if n, err := strconv.Atoi(number); err == nil && n >= g.whole && n <= g.reading {
			from = n
		}
	}
	tasks := g.tasks[:min(len(g.tasks), store.MaxGrid)]
	a := gridAnswer{Token: g.boot + "." + strconv.Itoa(g.reading), Full: from == 0, Capped: len(g.tasks) > store.MaxGrid, Errors: []errorGroup{}}
	databases, versions, types := index{}, index{}, index{}
	for i := range tasks {
		t := &tasks[i]
		databases.add(t.DatabaseID, t.DatabaseID)
		versions.add(t.Version, t.VersionKey+" "+t.Version)
		types.add(t.Type, t.Type)
	}
	a.Databases, a.Versions, a.Types = databases.sorted(), versions.sorted(), types.sorted()
	for i := range tasks {
		t := &tasks[i]
		count(&a.Counts, t.Status)
		group := -1
		if t.Status == "FAILED" {
			group = g.group(t, hide)
			a.tell(g.errors, group)
		}
		if g.changed[i] > from {
			a.Tasks.add(t, databases.of(t.DatabaseID), versions.of(t.Version), types.of(t.Type), group)
		}
	}
	a.Tasks.fill()
	return a
}

type errorKey struct{ text, code string }

// group numbers a task's error. g.mu is held.
func (g *grid) group(t *store.GridTask, hide bool) int {
	key := errorKey{t.Error, t.Code}
	if hide {
		key.text = ""
	}
	n, ok := g.groups[key]
	if !ok {
		n = len(g.errors)
		g.groups[key] = n
		g.errors = append(g.errors, key)
	}
	return n
}

// tell counts a task of a group. Groups that were numbered before and have no task now are told with none.
func (a *gridAnswer) tell(errors []errorKey, group int) {
	for n := len(a.Errors); n <= group; n++ {
		a.Errors = append(a.Errors, errorGroup{Text: errors[n].text, Code: some(errors[n].code)})
	}
	a.Errors[group].Count++
}

func (c *columns) add(t *store.GridTask, database, version, kind, group int) {
	var run *string
	if t.RunID != 0 {
		run = some(strconv.FormatInt(t.RunID, 10))
	}
	var took *int64
	if t.StartedAt != nil && t.EndedAt != nil {
		ms := max(0, t.EndedAt.Sub(*t.StartedAt).Milliseconds())
		took = &ms
	}
	paused := 0
	if t.Paused {
		paused = 1
	}
	c.ID, c.Name, c.Type = append(c.ID, strconv.FormatInt(t.ID, 10)), append(c.Name, t.Name), append(c.Type, kind)
	c.Database, c.Version = append(c.Database, database), append(c.Version, version)
	c.Status, c.Paused = append(c.Status, letter(t.Status)), append(c.Paused, paused)
	c.RunID, c.Attempt = append(c.RunID, run), append(c.Attempt, t.Attempt)
	c.DurationMS, c.Since = append(c.DurationMS, took), append(c.Since, millis(t.Since))
	c.Cause, c.ErrorGroup = append(c.Cause, some(t.Cause)), append(c.ErrorGroup, group)
}

// fill has empty columns be [] and not null.
func (c *columns) fill() {
	if c.ID == nil {
		*c = columns{
			[]string{}, []string{}, []int{}, []int{}, []int{}, []string{}, []int{}, []*string{}, []int{}, []*int64{}, []*int64{}, []*string{}, []int{},
		}
	}
}

// letter stands for a status in columns.
func letter(status string) string {
	if status == "NOT_STARTED" {
		return "-"
	}
	return status[:1]
}

func count(c *store.BoardCounts, status string) {
	switch status {
	case "NOT_STARTED":
		c.NotStarted++
	case "PENDING":
		c.Pending++
	case "AVAILABLE":
		c.Available++
	case "RUNNING":
		c.Running++
	case "DONE":
		c.Done++
	case "SKIPPED":
		c.Skipped++
	case "FAILED":
		c.Failed++
	case "CANCELED":
		c.Canceled++
	}
}

// index gives values their places in an order of their own.
type index struct {
	keys   map[string]string
	places map[string]int
}

func (x *index) add(value, key string) {
	if x.keys == nil {
		x.keys = map[string]string{}
	}
	if value != "" {
		x.keys[value] = key
	}
}

func (x *index) sorted() []string {
	values := make([]string, 0, len(x.keys))
	for value := range x.keys {
		values = append(values, value)
	}
	slices.SortFunc(values, func(a, b string) int { return strings.Compare(x.keys[a], x.keys[b]) })
	x.places = make(map[string]int, len(values))
	for i, value := range values {
		x.places[value] = i
	}
	return values
}

// of is -1 for no value.
func (x *index) of(value string) int {
	if place, ok := x.places[value]; ok {
		return place
	}
	return -1
}
