package doctor

import (
	"context"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

// check looks at one thing.
type check struct {
	name string // in its findings
	ask  func(ctx context.Context) error
	// statements are those of store/sql that it sends; none: its file has what it asks, or migrations do.
	statements []string
}

// checks are in the order in which they are asked. The first ones need no schema.
func (d *doctor) checks() (first, ofSchema []check) {
	first = []check{
		{"server", d.checkServer, []string{"doctor_server"}},
		{"pooler", d.checkPoolers, nil},
		{"encryption", d.checkEncryption, nil},
		{"clock", d.checkClock, []string{"clock"}},
		{"locks", d.checkLockers, nil},
		{"schema", d.checkSchema, []string{"schema_version", "schema_code"}},
	}
	ofSchema = []check{
		{"deployment", d.checkDeployment, []string{"whereabouts"}},
		{"privileges", d.checkPrivileges, []string{"doctor_privileges"}},
		{"role", d.checkRole, []string{"doctor_role"}},
		{"attached", d.checkAttachments, []string{"doctor_attachments"}},
		{"target", d.checkTargets, []string{"doctor_server_start", "doctor_target", "doctor_set_aside"}},
		{"drift", d.checkDrift, nil},
		{"sequence", d.checkSequences, []string{"doctor_identities"}},
		{"settings", d.checkTraps, []string{"doctor_traps"}},
		{"vacuum", d.checkVacuum, []string{"doctor_vacuum"}},
		{"snapshot", d.checkSnapshots, []string{"doctor_snapshots"}},
		{"slot", d.checkSlots, []string{"doctor_slots"}},
		{"stream", d.checkStream, []string{"doctor_stream"}},
		{"replicas", d.checkReplicas, []string{"replicas"}},
		{"replicas", d.checkReserved, []string{"doctor_reserved"}},
		{"orphans", d.checkOrphans, []string{"doctor_orphans"}},
		{"locks", d.checkLocks, []string{"hold_ups"}},
		{"webhooks", d.checkWebhooks, []string{"delivery_backlogs", "doctor_filters"}},
		{"limits", d.checkLimits, []string{"limit_worries"}},
		{"schedules", d.checkSchedules, []string{"stopped_schedules"}},
	}
	return first, ofSchema
}

// examine asks one thing after the other; only a lost database ends it: what else can't be asked is a finding itself.
func (d *doctor) examine(ctx context.Context) error {
	first, ofSchema := d.checks()
	for _, c := range first {
		if err := d.try(ctx, c); err != nil {
			return err
		}
	}
	if d.schema < int64(migrations.Version()) {
		return nil // the rest asks for what isn't there
	}
	for _, c := range ofSchema {
		if err := d.try(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// try asks one thing within the doctor's patience.
func (d *doctor) try(ctx context.Context, c check) error {
	ask, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	err := c.ask(ask)
	switch {
	case err == nil:
		return nil
	case c.name == "server":
		return err // who may not ask that may ask nothing
	case ctx.Err() != nil:
		return ctx.Err()
	case store.SQLState(err) == "42501":
		d.add(c.name, Warning, "this role may not look: "+database.InWords(err).Error(), d.grants())
		return nil
	case store.SQLState(err) != "":
		d.add(c.name, Warning, "could not be looked at: "+database.InWords(err).Error(), "rowrun migrate status")
		return nil
	}
	return d.unanswered(ctx, c, err)
}
