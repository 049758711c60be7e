package replica

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
)

// Config is everything that one replica is told. Validate has checked it
// as far as no part that it is handed to does so itself.
type Config struct {
	Database database.Config
	// Shards are several databases instead of Database, in the order of their names; none: Database is the only one.
	Shards []Shard
	Log    cli.LogConfig

	Version     string // of the program; shown for this replica
	Role        string // store.RoleWorker or store.RoleAdmin
	ReplicaName string
	Concurrency int
	// Reserve are slots of Concurrency for runs of some priority and above.
	Reserve []scheduler.Reserve
	Queues  []string
	// Types is never empty after Validate but for an admin: the types that are configured, or some of them.
	Types     []string
	AppURL    string
	AppSecret string
	File      File
	Migrate   bool
	// DatabaseConns bounds the pool on Rowrun's own database.
	DatabaseConns int

	HeartbeatInterval  time.Duration
	StaleAfter         time.Duration
	MissedHeartbeats   int // another way to give StaleAfter; 0: not given
	StaleSweepInterval time.Duration
	SweepInterval      time.Duration
	CleanupInterval    time.Duration
	Retention          time.Duration
	RetentionFailed    time.Duration // 0: as Retention
	TaskTimeout        time.Duration // 0: none
	DrainTimeout       time.Duration
	StuckLimit         int
	MaxBatch           int
	// MaxClaimsPerType is for types that the file has no concurrency for; 0: no bound.
	MaxClaimsPerType    int
	Recovery            string // scheduler.RecoveryAuto or RecoveryOff
	RecoveryConcurrency int    // 0: as Concurrency
	RecoveryRate        int    // runs per second; 0: no cap
	TwoSteps            bool

	HTTPAddr  string // "": no HTTP
	HTTPToken string // resolved by Validate; "": none
	// HTTPWorkerToken is resolved by Validate; "": workers are not served.
	HTTPWorkerToken string
	Dashboard       Dashboard
	StreamSource    string
	Wake            string

	// WebhookAllow are networks that webhooks may call though they are not public.
	WebhookAllow []netip.Prefix
	// PublicURL is where people reach the dashboard, without a slash at its end; "": not known.
	PublicURL string

	flags        *pflag.FlagSet // nil in tests that make a configuration by hand
	ConfigPath   string
	webhookAllow []string
	reserve      []string
	shards       []string
	lookup       func(string) (string, bool) // of Validate: what webhooks refer to is read at each try
}

const (
	minDatabaseConns = 5
	minStaleAfter    = time.Second
	maxRecoveryRate  = 1_000_000
	// Below this a replica would do nothing but look.
	minInterval = 10 * time.Millisecond
)

// Register adds the flags of `rowrun serve`.
func (c *Config) Register(flags *pflag.FlagSet) {
	c.flags = flags
	c.Database.Register(flags)
	c.Log.Register(flags)
	flags.StringVar(&c.ReplicaName, "replica-name", "", "`name` shown for this replica (default POD_NAME, HOSTNAME, the host's name)")
	cli.Choice(flags, &c.Role, "role", store.RoleWorker, "worker, or admin: claims nothing, and sweeps, settles what is lost, writes the stream and delivers webhooks", store.RoleWorker, store.RoleAdmin)
	flags.IntVar(&c.Concurrency, "concurrency", 20, "most runs at once in this replica")
	cli.List(flags, &c.reserve, "reserve", nil, "slots of --concurrency that only runs of at least a priority take, as `PRIORITY=SLOTS`, separated by commas; those of several priorities add up")
	cli.List(flags, &c.Queues, "queues", []string{"default"}, "queues that this replica serves, separated by commas")
	cli.List(flags, &c.Types, "types", nil, "task types that this replica runs (default: all that are configured)")
	flags.StringVar(&c.AppURL, "app-url", "", "base `URL` of the app that HTTP tasks call")
	flags.StringVar(&c.AppSecret, "app-secret", "", "whsec_… `secret` that signs calls to the app, several separated by spaces; env:NAME or file:PATH")
	flags.StringVar(&c.ConfigPath, "config", "", "YAML `file` with databases, commands, types and webhook_secrets")
	flags.BoolVar(&c.Migrate, "migrate", false, "bring the schema up to date first")
	flags.IntVar(&c.DatabaseConns, "db-max-conns", 10, "most connections of the pool to the database")

	flags.DurationVar(&c.HeartbeatInterval, "heartbeat-interval", 10*time.Second, "how often this replica says that it is alive")
	flags.DurationVar(&c.StaleAfter, "stale-after", time.Minute, "silence after which this replica counts as dead; at least 1s and 3 × --heartbeat-interval")
	flags.IntVar(&c.MissedHeartbeats, "missed-heartbeat-limit", 0, "another way to give --stale-after: this many × --heartbeat-interval; at least 3")
	flags.DurationVar(&c.StaleSweepInterval, "stale-sweep-interval", 30*time.Second, "how often to look for dead replicas")
	flags.DurationVar(&c.SweepInterval, "sweep-interval", 5*time.Second, "how often to look for work that no notification announced")
	flags.DurationVar(&c.CleanupInterval, "cleanup-interval", time.Hour, "how often to remove what is older than --retention")
	flags.DurationVar(&c.Retention, "retention", 720*time.Hour, "how long ended runs are kept")
	flags.DurationVar(&c.RetentionFailed, "retention-failed", 0, "how long ended runs are kept that are FAILED; 0: as --retention")
	flags.DurationVar(&c.TaskTimeout, "task-timeout", time.Hour, "timeout of tasks that have none of their own; 0: none")
	flags.DurationVar(&c.DrainTimeout, "drain-timeout", 30*time.Second, "how long running work may go on after SIGTERM")
	flags.IntVar(&c.MaxClaimsPerType, "max-claims-per-type", 0, "most runs of one type at once in this replica, where types in the file of --config says nothing; 0: as many as --concurrency")
	cli.Choice(flags, &c.Recovery, "recovery", scheduler.RecoveryAuto, "what follows an outage of the deployment, when no replica was alive for longer than --stale-after: a recovery in which this replica takes part, or nothing", scheduler.RecoveryAuto, scheduler.RecoveryOff)
	flags.IntVar(&c.RecoveryConcurrency, "recovery-concurrency", 0, "most runs at once in this replica during a recovery; 0: as --concurrency")
	flags.IntVar(&c.RecoveryRate, "recovery-rate", 0, "most runs per second that all replicas together start during a recovery, the same on each; 0: no cap")
	flags.IntVar(&c.MaxBatch, "max-batch", 1000, "most runs that one statement claims or ends; 1: each by itself, for measurements")
	flags.BoolVar(&c.TwoSteps, "two-steps", false, "promote and claim in two versions of each run's row, also where one does for both; for measurements")
	flags.IntVar(&c.StuckLimit, "stuck-limit", 5, "how many executors that ignore their cancel this replica bears; with more, or no slot left, it drains and exits with 1")

	flags.StringVar(&c.HTTPAddr, "http-addr", "127.0.0.1:8484", "`host:port` of the dashboard, /livez, /readyz, /metrics, /status and /events; off: none")
	flags.StringVar(&c.HTTPWorkerToken, "http-worker-token", "", "bearer token of workers, /api/v1/worker/…; none: they are not served: `env:NAME or file:PATH`")
	flags.StringVar(&c.HTTPToken, "http-token", "", "bearer token that reads /status, /events and the dashboard, needed beyond loopback: `env:NAME or file:PATH`")
	c.Dashboard.Register(flags)
	cli.Choice(flags, &c.StreamSource, "stream-source", "auto", "where the stream comes from: the write-ahead log, notifications and rows, or nowhere here; auto is wal where that works and max_slot_wal_keep_size is set", "auto", "wal", "listen", "off")
	cli.Choice(flags, &c.Wake, "wake", "auto", "how this replica is woken; with wal the replica that writes the stream sees INSERTs in the log, which then notify nobody, and wakes the others; poll: sweeps alone", "auto", "wal", "notify", "poll")
	RegisterWebhookAllow(flags, &c.webhookAllow)
	RegisterPublicURL(flags, &c.PublicURL)
}

// RegisterWebhookAllow adds --webhook-allow-cidr.
func RegisterWebhookAllow(flags *pflag.FlagSet, p *[]string) {
	cli.List(flags, p, "webhook-allow-cidr", nil, "networks such as 10.0.0.0/8 that webhooks may call though they are not public, separated by commas")
}

// ParseWebhookAllow reads what was given as --webhook-allow-cidr.
func ParseWebhookAllow(texts []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix.Addr().Is4In6() {
			return nil, cli.Usagef("--webhook-allow-cidr: %q is not accepted; accepted: networks such as 10.0.0.0/8 or fd00::/8, separated by commas", text)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

// AllowWebhooks lets webhooks call these networks too. It comes before validate.
func (c *Config) AllowWebhooks(networks ...string) {
	c.webhookAllow = append(c.webhookAllow, networks...)
}

// Validate completes what was left open and refuses what can't work.
func (c *Config) Validate(lookup func(string) (string, bool)) error {
	var err error
	if c.File, err = ReadFile(c.ConfigPath); err != nil {
		return err
	}
	if err := c.resolveDatabases(lookup); err != nil {
		return err
	}
	if err := c.File.Resolve(lookup); err != nil {
		return err
	}
	if c.AppSecret, err = cli.ResolveSecret("--app-secret", c.AppSecret, lookup); err != nil {
		return err
	}
	if c.HTTPWorkerToken, err = cli.ResolveToken("--http-worker-token", c.HTTPWorkerToken, lookup); err != nil {
		return err
	}
	if c.HTTPToken, err = cli.ResolveToken("--http-token", c.HTTPToken, lookup); err != nil {
		return err
	}
	if err := c.Dashboard.Validate(lookup, c.HTTPToken); err != nil {
		return err
	}
	if c.AppSecret != "" && c.AppURL == "" {
		return cli.Usagef("--app-secret signs calls to the app: it needs --app-url")
	}
	for _, check := range []func() error{c.validateNumbers, c.validateShards, c.validateIntervals, c.validateNames, c.ValidateTypes, c.validateHTTP, c.validateWorkerToken} {
		if err := check(); err != nil {
			return err
		}
	}
	if c.Wake == "wal" && c.StreamSource != "auto" && c.StreamSource != "wal" {
		return cli.Usagef("--wake: wal needs a stream from the log; accepted with --stream-source auto or wal")
	}
	if c.WebhookAllow, err = ParseWebhookAllow(c.webhookAllow); err != nil {
		return err
	}
	if c.PublicURL, err = ParsePublicURL(c.PublicURL); err != nil {
		return err
	}
	c.lookup = lookup
	c.ReplicaName, err = replicaName(c.ReplicaName, lookup)
	return err
}

// validateWorkerToken refuses a token of workers that is also a reader's or an operator's: each could do what the other may.
func (c *Config) validateWorkerToken() error {
	if w := c.HTTPWorkerToken; w != "" && (w == c.HTTPToken || slices.ContainsFunc(c.Dashboard.Operators, func(o auth.Operator) bool { return o.Token == w })) {
		return cli.Usagef("--http-worker-token: is also the token of --http-token or of an operator: give each a token of its own")
	}
	return nil
}

func (c *Config) validateNumbers() error {
	if c.Concurrency < 1 || c.Concurrency > 10000 {
		return cli.Usagef("--concurrency: %d is not accepted; accepted: 1 to 10000", c.Concurrency)
	}
	if c.MaxBatch < 1 || c.MaxBatch > 1000 {
		return cli.Usagef("--max-batch: %d is not accepted; accepted: 1 to 1000", c.MaxBatch)
	}
	if c.MaxClaimsPerType < 0 || c.MaxClaimsPerType > 10000 {
		return cli.Usagef("--max-claims-per-type: %d is not accepted; accepted: 1 to 10000, or 0 for no bound", c.MaxClaimsPerType)
	}
	if c.RecoveryConcurrency < 0 || c.RecoveryConcurrency > 10000 {
		return cli.Usagef("--recovery-concurrency: %d is not accepted; accepted: 1 to 10000, or 0 for that of --concurrency", c.RecoveryConcurrency)
	}
	if c.RecoveryRate < 0 || c.RecoveryRate > maxRecoveryRate {
		return cli.Usagef("--recovery-rate: %d is not accepted; accepted: 1 to %d runs per second, or 0 for no cap", c.RecoveryRate, maxRecoveryRate)
	}
	if c.DatabaseConns < minDatabaseConns || c.DatabaseConns > 1000 {
		return cli.Usagef("--db-max-conns: %d is not accepted; accepted: %d to 1000", c.DatabaseConns, minDatabaseConns)
	}
	if err := c.validateReserve(); err != nil {
		return err
	}
	if c.StuckLimit < 1 {
		return cli.Usagef("--stuck-limit: %d is not accepted; accepted: 1 or more", c.StuckLimit)
	}
	return nil
}

// Admin says that this replica claims nothing.
func (c *Config) Admin() bool { return c.Role == store.RoleAdmin }

// slots are how many runs this replica executes at once, at most.
func (c *Config) slots() int {
	if c.Admin() {
		return 0
	}
	return c.Concurrency
}

// validateMissed turns a number of heartbeats into a duration.
func (c *Config) validateMissed() error {
	if c.flags == nil || !c.flags.Changed("missed-heartbeat-limit") {
		return nil
	}
	if c.flags.Changed("stale-after") {
		return cli.Usagef("--missed-heartbeat-limit and --stale-after are two ways to say the same: give one of them")
	}
	if c.MissedHeartbeats < 3 || c.MissedHeartbeats > 1_000_000 {
		return cli.Usagef("--missed-heartbeat-limit: %d is not accepted; accepted: 3 or more", c.MissedHeartbeats)
	}
	c.StaleAfter = time.Duration(c.MissedHeartbeats) * c.HeartbeatInterval
	if c.StaleAfter < minStaleAfter && c.HeartbeatInterval >= minInterval {
		return cli.Usagef("--missed-heartbeat-limit: %d × --heartbeat-interval (%s) is %s; accepted: together at least %s",
			c.MissedHeartbeats, c.HeartbeatInterval, c.StaleAfter, minStaleAfter)
	}
	return nil
}

func (c *Config) validateIntervals() error {
	if err := c.validateMissed(); err != nil {
		return err
	}
	for _, interval := range []struct {
		flag  string
		value time.Duration
	}{
		{"heartbeat-interval", c.HeartbeatInterval},
		{"stale-after", c.StaleAfter},
		{"stale-sweep-interval", c.StaleSweepInterval},
		{"sweep-interval", c.SweepInterval},
		{"cleanup-interval", c.CleanupInterval},
		{"retention", c.Retention},
	} {
		if interval.value < minInterval {
			return cli.Usagef("--%s: %s is not accepted; accepted: a duration of at least %s", interval.flag, interval.value, minInterval)
		}
	}
	if c.RetentionFailed != 0 && c.RetentionFailed < minInterval {
		return cli.Usagef("--retention-failed: %s is not accepted; accepted: a duration of at least %s, or 0 for that of --retention", c.RetentionFailed, minInterval)
	}
	if c.TaskTimeout < 0 {
		return cli.Usagef("--task-timeout: %s is not accepted; accepted: a duration, or 0 for none", c.TaskTimeout)
	}
	if c.DrainTimeout < 0 {
		return cli.Usagef("--drain-timeout: %s is not accepted; accepted: a duration, or 0 to stop at once", c.DrainTimeout)
	}
	if c.StaleAfter < minStaleAfter {
		return cli.Usagef("--stale-after: %s is not accepted; accepted: at least %s", c.StaleAfter, minStaleAfter)
	}
	if c.StaleAfter < 3*c.HeartbeatInterval {
		return cli.Usagef("--stale-after: %s is not accepted; accepted: at least 3 × --heartbeat-interval, which is %s here",
			c.StaleAfter, 3*c.HeartbeatInterval)
	}
	return nil
}

func (c *Config) validateNames() error {
	if len(c.Queues) == 0 {
		return cli.Usagef("--queues: is empty; accepted: names separated by commas")
	}
	for _, queue := range c.Queues {
		if err := scheduler.CheckWord(queue); err != nil {
			return cli.Usagef("--queues: %w", err)
		}
	}
	return nil
}

// ValidateTypes holds what was asked for against what is configured.
func (c *Config) ValidateTypes() error {
	if c.Admin() {
		if len(c.Types) > 0 {
			return cli.Usagef("--types: is not accepted with --role admin, which runs nothing")
		}
		return nil
	}
	needs := []struct {
		name, needs string
		configured  bool
	}{
		{"NOOP", "", true},
		{"SQL", "databases in the file of --config", len(c.File.Databases)+len(c.File.DatabasesFrom) > 0},
		{"DATABASE_MIGRATE", "databases in the file of --config", len(c.File.Databases)+len(c.File.DatabasesFrom) > 0},
		{"HTTP", "--app-url", c.AppURL != ""},
		{"COMMAND", "commands in the file of --config", len(c.File.Commands) > 0},
	}
	var known, configured []string
	for _, kind := range needs {
		known = append(known, kind.name)
		if kind.configured {
			configured = append(configured, kind.name)
		} else if slices.Contains(c.Types, kind.name) {
			return cli.Usagef("--types: %s needs %s", kind.name, kind.needs)
		}
	}
	for _, name := range c.Types {
		if !slices.Contains(known, name) {
			return cli.Usagef("--types: %q is not accepted; accepted: %s", name, strings.Join(known, ", "))
		}
	}
	if len(c.Types) == 0 {
		c.Types = configured
	}
	return nil
}

func (c *Config) validateHTTP() (err error) {
	c.HTTPAddr, err = checkAddr(c.HTTPAddr)
	return err
}

// checkAddr is a host:port, or "" for off.
func checkAddr(addr string) (string, error) {
	if addr == "" || addr == "off" {
		return "", nil
	}
	if !listenable(addr) {
		return "", cli.Usagef("--http-addr: %q is not accepted; accepted: host:port such as 127.0.0.1:8484, or off", addr)
	}
	return addr, nil
}

func listenable(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// replicaName gives the name that people know this replica by. Only a name
// that was asked for is refused: a host's name is cut where it is too long.
func replicaName(name string, lookup func(string) (string, bool)) (string, error) {
	if err := scheduler.CheckReplicaName(name); err != nil {
		return "", cli.Usagef("--replica-name: %w", err)
	}
	for _, variable := range []string{"POD_NAME", "HOSTNAME"} {
		if name == "" {
			name, _ = lookup(variable)
		}
	}
	if name == "" {
		name, _ = os.Hostname()
	}
	return scheduler.ShortName(name), nil
}
