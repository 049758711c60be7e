package commands

import (
	"context"
	"fmt"
)

// checkSequences looks for ids that will be drawn though they stand in their table: whoever inserts then fails (23505).
func (d *doctor) checkSequences(ctx context.Context) error {
	behind, err := d.store.SequencesBehind(ctx)
	if err != nil {
		return err
	}
	for _, s := range behind {
		d.add("sequence", warning, fmt.Sprintf("%s draws %d next, and %s holds ids up to %d (rows were restored with their ids): INSERTs fail with 23505 until it is past them",
			s.Name, s.Next, s.Table, s.Behind),
			fmt.Sprintf("SELECT setval(%s, (SELECT max(id) FROM %s));", quoteLiteral(s.Name), s.Table))
	}
	if len(behind) == 0 {
		d.add("sequence", fine, "every sequence is past the ids of its table", "")
	}
	return nil
}
