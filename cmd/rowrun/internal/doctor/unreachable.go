package doctor

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/connect"
)

// checkConfig reads the file of the sidecars, where it was given.
func (d *doctor) checkConfig() {
	if d.ConfigPath == "" {
		return
	}
	file, err := replica.ReadFile(d.ConfigPath)
	if err == nil {
		err = file.Resolve(d.Lookup)
	}
	if err != nil {
		d.add("config", Warning, err.Error(), "rowrun doctor --config "+cli.ShellWord(filepath.Base(d.ConfigPath))+"  # after it was mended: serve refuses it too")
		return
	}
	d.add("config", Fine, fmt.Sprintf("%s has %d databases and %d commands", d.ConfigPath, len(file.Databases), len(file.Commands)), "")
}

// reach is how far one address of the database can be reached.
type reach struct {
	address string // host and port, or a socket
	found   string // where the host's name leads
	err     error  // nil: somebody answers there
	named   bool   // the name was found
}

// startReach looks whether there is a server, without logging in to it; the result is there within patience, and at once
// where it isn't needed.
func startReach(ctx context.Context, url string, patience time.Duration) func(needed bool) []reach {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return func(bool) []reach { return nil } // resolve has parsed it before
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	type host struct {
		name string
		port uint16
	}
	hosts := []host{{config.Host, config.Port}}
	for _, other := range config.Fallbacks { // also the same without TLS
		if h := (host{other.Host, other.Port}); h != hosts[len(hosts)-1] {
			hosts = append(hosts, h)
		}
	}
	looked := make([]reach, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() { looked[i] = lookAt(ctx, h.name, h.port) })
	}
	return func(needed bool) []reach {
		defer cancel()
		if !needed {
			cancel()
		}
		all.Wait()
		return looked
	}
}

func lookAt(ctx context.Context, host string, port uint16) reach {
	r := reach{address: net.JoinHostPort(host, strconv.Itoa(int(port))), named: true}
	network := "tcp"
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") {
		network, r.address = "unix", filepath.Join(host, ".s.PGSQL."+strconv.Itoa(int(port)))
	} else {
		found, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			r.named, r.err = false, err
			return r
		}
		r.found = strings.Join(found, ", ")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, r.address)
	if err != nil {
		r.err = err
		return r
	}
	_ = conn.Close()
	return r
}

// reportDead says what can be said of a database that doesn't answer.
func (d *doctor) reportDead(err error, reached []reach) {
	d.add("program", Fine, fmt.Sprintf("rowrun %s, its schema is version %d", d.Version, migrations.Version()), "")
	d.add("environment", Fine, "the database is from "+d.Database.Source+"; set: "+variablesSet(d.Lookup), "")
	answers := false
	for _, r := range reached {
		switch {
		case !r.named:
			d.add("address", Warning, r.address+": "+connect.Diagnose(r.err).Text, "getent hosts "+hostOf(r.address)+"  # then mend the name in "+d.Database.Source+", or the resolver")
			continue
		case r.found != "":
			d.add("address", Fine, r.address+" is "+r.found, "")
		}
		if r.err != nil {
			d.add("network", Warning, r.address+": "+connect.Diagnose(r.err).Text, "pg_isready -d "+cli.Quoted(isReadyTarget(r.address))+"  # is it running, and does a firewall let this machine through?")
			continue
		}
		answers = true
		d.add("network", Fine, r.address+" accepts connections", "")
	}
	fix := "rowrun doctor  # once it can be reached"
	if answers {
		fix = "psql -c 'SELECT version()'  # with the same settings: the login, pg_hba.conf and the name of the database are what is left"
	}
	d.add("database", Warning, err.Error(), fix)
	d.add("unchecked", Note, "without an answer not looked at: the server's version and settings, the pooler, the clock, the schema, privileges, drift, "+
		"vacuum, snapshots, slots, replicas and runs", "rowrun doctor")
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return cli.ShellWord(host)
}

// isReadyTarget is an address as pg_isready takes it.
func isReadyTarget(address string) string {
	if host, port, err := net.SplitHostPort(address); err == nil {
		return "host=" + host + " port=" + port
	}
	return "host=" + filepath.Dir(address) + " port=" + strings.TrimPrefix(filepath.Ext(address), ".")
}

// variablesSet names the variables that say where the database is, never what they say.
func variablesSet(lookup func(string) (string, bool)) string {
	var set []string
	for _, name := range []string{
		"ROWRUN_DATABASE_URL", "ROWRUN_DIRECT_URL", "ROWRUN_CONFIG", "DATABASE_URL", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD",
		"PGPASSFILE", "PGSERVICE", "PGSSLMODE", "PGSSLROOTCERT", "PGTARGETSESSIONATTRS",
	} {
		if value, ok := lookup(name); ok && value != "" {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return "no variable"
	}
	return strings.Join(set, ", ")
}
