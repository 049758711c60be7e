package statuses

import "slices"

// Look is how one status is shown.
type Look struct {
	// Status is the word of the database.
	Status string
	// Name is the word for pages.
	Name string
	// Icon is one character.
	Icon string
	// SGR is the colour on a terminal: the parameter of an escape sequence, of the 16 colours that a user's theme sets.
	SGR string
	// Color is that on a page, #rrggbb; it can be read on white and on black.
	Color string
}

// All are the statuses in the order in which they are shown everywhere.
func All() []Look {
	return []Look{
		{"NOT_STARTED", "Not started", "◌", "90", "#7d8590"},
		{"PENDING", "Pending", "◔", "33", "#a87400"},
		{"AVAILABLE", "Available", "◉", "34", "#3b82f6"},
		{"RUNNING", "Running", "▸", "36", "#0891a8"},
		{"DONE", "Done", "✓", "32", "#2c9a4b"},
		{"SKIPPED", "Skipped", "»", "37", "#8a7f72"},
		{"FAILED", "Failed", "✗", "31", "#e0393e"},
		{"CANCELED", "Canceled", "⊘", "35", "#b25fd0"},
	}
}

// Of is how a status is shown; ok: it is one.
func Of(status string) (look Look, ok bool) {
	all := All()
	i := slices.IndexFunc(all, func(l Look) bool { return l.Status == status })
	if i < 0 {
		return Look{}, false
	}
	return all[i], true
}

// OfTasks are the words of a task's status, in order.
func OfTasks() []string { return without() }

// OfPlans are those of a plan's.
func OfPlans() []string { return without("SKIPPED") }

// OfRuns are those of a run's.
func OfRuns() []string { return without("NOT_STARTED", "SKIPPED") }

func without(left ...string) []string {
	var words []string
	for _, look := range All() {
		if !slices.Contains(left, look.Status) {
			words = append(words, look.Status)
		}
	}
	return words
}
