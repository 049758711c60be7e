package doctor

import (
	"context"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
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

// checkSources reads what databases_from names.
func (d *doctor) checkSources(ctx context.Context, file replica.File) {
	if len(file.DatabasesFrom) == 0 {
		return
	}
	given, err := (&replica.File{DatabasesFrom: file.DatabasesFrom}).Targets(ctx, d.Lookup)
	if err != nil {
		d.add("target", Warning, "what can't be read keeps the targets that the sidecars know: "+database.InWords(err).Error(), "rowrun doctor --config FILE  # once it can")
		return
	}
	d.add("target", Fine, fmt.Sprintf("databases_from gives %d targets", len(given)), "")
}
