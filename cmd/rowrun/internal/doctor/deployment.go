package doctor

import (
	"context"
	"fmt"
)

// checkDeployment looks whether the database is a copy, and whether it may be.
func (d *doctor) checkDeployment(ctx context.Context) error {
	w, err := d.store.Whereabouts(ctx)
	if err != nil {
		return err
	}
	switch {
	case w.Elsewhere:
		d.add("deployment", Warning, w.Why(), "rowrun migrate deployment new  # or: rowrun migrate deployment moved")
	case w.Promoted():
		d.add("deployment", Note, fmt.Sprintf("the server was promoted since the deployment was made (timeline %d, now %d): nothing is wrong after a failover; "+
			"if its origin goes on beside it, both do the same work, and this one needs `rowrun migrate deployment new`", *w.RecordedTimeline, *w.Timeline),
			"rowrun migrate deployment moved  # after a failover: it is noted")
	case w.System == nil:
		d.add("deployment", Note, "role "+d.server.Role+" may not know which server this is: a copy on another one isn't noticed",
			"GRANT EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint() TO "+quoteIdentifier(d.server.Role)+";")
	default:
		d.add("deployment", Fine, w.ID+" belongs to this server and database", "")
	}
	return nil
}
