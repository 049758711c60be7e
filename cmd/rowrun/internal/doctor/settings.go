package doctor

import (
	"context"
	"fmt"
	"strings"
)

// ownConnections is what one replica opens with the default of --db-max-conns, the two that listen and replicate included.
const ownConnections = 12

// checkTraps looks for settings that let a replica live and keep it, or the triggers, from working.
func (d *doctor) checkTraps(ctx context.Context) error {
	traps, err := d.store.Traps(ctx)
	if err != nil {
		return err
	}
	before := len(d.findings)
	for _, t := range traps {
		switch t.Kind {
		case "row_security":
			d.add("settings", Warning, "row level security is on for "+t.Object+", and role "+d.server.Role+" is bound by it: rows are hidden from the sidecar",
				"ALTER TABLE "+t.Object+" DISABLE ROW LEVEL SECURITY;")
		case "replication_role":
			d.add("settings", Warning, "session_replication_role is replica for "+t.Object+": no trigger of Rowrun's fires there, statuses and notifications go wrong",
				resetReplicationRole(t.Object))
		case "connections":
			if t.Limit >= ownConnections && t.Open+2 < t.Limit {
				continue
			}
			kind, name, _ := strings.Cut(t.Object, " ")
			d.add("settings", Warning, fmt.Sprintf("the connections of %s are limited to %d, %d are open, and one replica opens up to %d: it may live and find none to claim with",
				t.Object, t.Limit, t.Open, ownConnections), "ALTER "+strings.ToUpper(kind)+" "+name+" CONNECTION LIMIT -1;")
		}
	}
	if len(d.findings) == before {
		d.add("settings", Fine, "triggers fire, rows are seen, connections aren't limited", "")
	}
	return nil
}

// resetReplicationRole takes the setting back from where it stands.
func resetReplicationRole(object string) string {
	const reset = " RESET session_replication_role;"
	if object == "server" {
		return "ALTER SYSTEM" + reset + " SELECT pg_reload_conf();"
	}
	kind, name, _ := strings.Cut(object, " ")
	if role, database, both := strings.Cut(name, " in database "); both {
		return "ALTER ROLE " + role + " IN DATABASE " + database + reset
	}
	return "ALTER " + strings.ToUpper(kind) + " " + name + reset
}
