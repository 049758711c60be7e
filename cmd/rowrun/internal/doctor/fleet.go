package doctor

import (
	"context"
	"fmt"
)

// checkSetAside tells which targets live replicas can't reach.
func (d *doctor) checkSetAside(ctx context.Context) error {
	aside, err := d.store.SetAside(ctx)
	if err != nil {
		return err
	}
	for i, a := range aside {
		if i == 10 {
			d.add("target", Warning, fmt.Sprintf("%d or more further databases are set aside", len(aside)-i), "rowrun doctor --config FILE  # once the first are back")
			break
		}
		d.add("target", Warning, "database "+shortName(a.Database)+" can't be reached by "+a.Replica+", its runs wait: "+a.Why,
			"rowrun doctor  # once it can be reached: the replica finds that out within 5 minutes")
	}
	return nil
}
