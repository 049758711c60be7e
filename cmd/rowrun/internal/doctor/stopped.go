package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrun/rowrun/store"
)

// duePatience is how long a delivery may wait for a replica to come to it.
const duePatience = time.Minute

func (d *doctor) checkWebhooks(ctx context.Context) error {
	backlogs, err := d.store.DeliveryBacklogs(ctx)
	if err != nil {
		return err
	}
	before := len(d.findings)
	for i := range backlogs {
		d.checkBacklog(&backlogs[i])
	}
	unmet, err := d.store.UnmetFilters(ctx)
	if err != nil {
		return err
	}
	for _, u := range unmet {
		d.add("webhooks", Warning, fmt.Sprintf("the filter of %s names the task %q, and there is none without a plan: nothing is told of it", webhookCalled(u.WebhookID, u.Name), u.Task),
			fmt.Sprintf("rowrun task list --definitions  # and the right name: rowrun webhook update %d --filter task=NAME", u.WebhookID))
	}
	if len(d.findings) == before {
		d.add("webhooks", Fine, "no delivery is held up", "")
	}
	return nil
}

func webhookCalled(id int64, name string) string {
	if name == "" {
		return fmt.Sprintf("webhook %d", id)
	}
	return fmt.Sprintf("webhook %d (%s)", id, name)
}

func (d *doctor) checkBacklog(b *store.DeliveryBacklog) {
	which := webhookCalled(b.WebhookID, b.Name)
	held := fmt.Sprintf("%d deliveries wait, the oldest since %s", b.Deliveries, b.Since.UTC().Format(time.RFC3339))
	given := fmt.Sprintf("%d deliveries were given up, the oldest of %s", b.Deliveries, b.Since.UTC().Format(time.RFC3339))
	why := ": " + b.Error
	if b.Error == "" {
		why = ""
	}
	try := fmt.Sprintf("rowrun webhook test %d  # ", b.WebhookID)
	enable := fmt.Sprintf("rowrun webhook update %d --enabled=true", b.WebhookID)
	again := fmt.Sprintf("rowrun webhook redeliver %d  # and the others of rowrun webhook deliveries --webhook %d", b.Last, b.WebhookID)
	switch b.Reason {
	case "unready":
		d.add("webhooks", Warning, which+" can't be sent to, its url or secret is not to be had"+why+"; "+held,
			try+"with the environment of a replica: it names what is missing there")
	case "refused":
		d.add("webhooks", Warning, which+" doesn't get its messages"+why+"; "+held,
			try+"from a replica's place; it is tried again by itself")
	case "disabled":
		d.add("webhooks", Warning, which+" is not enabled; "+held, enable)
	case "exhausted":
		d.add("webhooks", Warning, which+" did not take messages until their tries were used up"+why+"; "+given, again)
	case "gone":
		d.add("webhooks", Warning, which+" was switched off, as its endpoint said that it is gone"+why+"; "+given, enable+"  # then "+again)
	default:
		if d.now().Sub(b.Since) >= duePatience {
			d.add("webhooks", Warning, "no replica comes to what "+which+" is to get; "+held, "rowrun serve")
		}
	}
}

func (d *doctor) checkSchedules(ctx context.Context) error {
	stopped, err := d.store.StoppedSchedules(ctx)
	if err != nil {
		return err
	}
	for _, s := range stopped {
		which := fmt.Sprintf("task %d", s.TaskID)
		if s.Name != "" {
			which += " (" + s.Name + ")"
		}
		fix := fmt.Sprintf("rowrun task resume %d", s.TaskID)
		if !s.KnownZone {
			fix = fmt.Sprintf("UPDATE rowrun.task SET time_zone = 'UTC', paused = false WHERE id = %d; -- or the zone that is meant", s.TaskID)
		}
		d.add("schedules", Warning, fmt.Sprintf("the schedule of %s, %q, was paused by itself and nothing of it runs: %s", which, s.Schedule, s.Error), fix)
	}
	if len(stopped) == 0 {
		d.add("schedules", Fine, "no schedule was paused by itself", "")
	}
	return nil
}
