package doctor

import "context"

func (d *doctor) checkLimits(ctx context.Context) error {
	worries, err := d.store.LimitWorries(ctx)
	if err != nil {
		return err
	}
	for _, w := range worries {
		weight := Note
		if w.Serious() {
			weight = Warning
		}
		d.add("limits", weight, w.Text(), w.Fix())
	}
	if len(worries) == 0 {
		d.add("limits", Fine, "no limit holds more back than it says", "")
	}
	return nil
}
