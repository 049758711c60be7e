package cli

import (
	"slices"
	"strings"
)

// Column is a column of a table.
type Column struct {
	Title string
	kind  kind
	wide  bool // shown by -o wide only
	spare bool // left out where the screen is too narrow for all
}

type kind int

const (
	whole kind = iota
	free
	status
)

// Whole is a column whose values are never cut: ids, counts, moments.
func Whole(title string) Column { return Column{Title: title} }

// Free is a column of texts of any length.
func Free(title string) Column { return Column{Title: title, kind: free} }

// Status is the column of statuses. What follows the status in a cell is a word on it.
func Status() Column { return Column{Title: "STATUS", kind: status} }

// Wide has a column shown by -o wide only.
func (c Column) Wide() Column {
	c.wide = true
	return c
}

// Spare has a column left out where a screen is too narrow, the last one first.
func (c Column) Spare() Column {
	c.spare = true
	return c
}

// Table is what people read; the other forms are written from the value itself.
type Table struct {
	Columns []Column
	Rows    [][]string
	// Names are what -o name shows; nil: the first cell of each row.
	Names []string
	// None is said on standard error where there is no row.
	None string
	// Note is a line below the rows.
	Note string
	// Uncut keeps every value whole, whatever the screen.
	Uncut bool

	facts bool // a row is a fact: its name and its value
}

// names are what other commands take, a line each.
func (t *Table) names() []string {
	if t.Names != nil {
		return t.Names
	}
	names := make([]string, len(t.Rows))
	for i, row := range t.Rows {
		names[i] = row[0]
	}
	return names
}

const (
	gap = 2 // cells between two columns
	// leastFree is what is left of a long value where other columns can go instead, scantFree where none is left to go.
	leastFree = 16
	scantFree = 6
)

// lines are the table as it stands on a screen, header first. wide shows all columns, whole.
func (t *Table) lines(screen Screen, wide bool) []string {
	shown := t.printable(screen)
	if wide || t.Uncut {
		screen.Width = 0
	} else if screen.Width == 0 {
		shown.shorten()
	}
	keep := shown.wanted(screen, wide)
	widths := shown.widths(screen)
	if screen.Width > 0 {
		keep, widths = shown.fit(screen.Width, keep, widths)
	}
	lines := []string{shown.line(screen, nil, keep, widths)}
	for i := range shown.Rows {
		lines = append(lines, shown.line(screen, shown.Rows[i], keep, widths))
	}
	return lines
}

// printable is the table with each cell as it can be shown.
func (t *Table) printable(screen Screen) *Table {
	shown := &Table{Columns: t.Columns, Rows: make([][]string, len(t.Rows)), facts: t.facts}
	for i, row := range t.Rows {
		shown.Rows[i] = make([]string, len(t.Columns))
		for j := range min(len(row), len(t.Columns)) {
			cell := Printable(row[j])
			if t.statusAt(row, j) {
				cell = screen.Status(cell)
			}
			shown.Rows[i][j] = cell
		}
	}
	return shown
}

// statusAt says that a cell of a row is a status.
func (t *Table) statusAt(row []string, j int) bool {
	if t.facts {
		return j == 1 && row[0] == "status"
	}
	return t.Columns[j].kind == status
}

// shorten keeps lines readable where nothing says how long one may be.
func (t *Table) shorten() {
	const most = 80
	for _, row := range t.Rows {
		for j, column := range t.Columns {
			if column.kind == free {
				row[j] = Cut(row[j], most)
			}
		}
	}
}

// wanted are the columns to show, by position. On a screen those without a value are left out; in a pipe somebody counts.
func (t *Table) wanted(screen Screen, wide bool) []int {
	var keep []int
	for j, column := range t.Columns {
		if column.wide && !wide {
			continue
		}
		filled := slices.ContainsFunc(t.Rows, func(row []string) bool { return row[j] != "" })
		if filled || screen.Width == 0 || len(t.Rows) == 0 {
			keep = append(keep, j)
		}
	}
	return keep
}

// widths are how wide each column is with its values whole.
func (t *Table) widths(screen Screen) []int {
	widths := make([]int, len(t.Columns))
	for j, column := range t.Columns {
		widths[j] = cells(column.Title)
		for _, row := range t.Rows {
			widths[j] = max(widths[j], cells(row[j]))
		}
	}
	return widths
}

// fit leaves out spare columns and narrows free ones until a line has its room.
func (t *Table) fit(width int, keep, widths []int) (kept, narrowed []int) {
	floor := leastFree
	least := func() int {
		sum := gap * (len(keep) - 1)
		for _, j := range keep {
			sum += t.least(j, widths[j], floor)
		}
		return sum
	}
	for least() > width {
		last := -1
		for i, j := range keep {
			if t.Columns[j].spare {
				last = i
			}
		}
		if last < 0 {
			floor = scantFree
			break
		}
		keep = slices.Delete(slices.Clone(keep), last, last+1)
	}
	narrowed = slices.Clone(widths)
	over := gap * (len(keep) - 1)
	for _, j := range keep {
		over += narrowed[j]
	}
	for over -= width; over > 0; over-- { // the widest gives first
		widest := -1
		for _, j := range keep {
			if narrowed[j] > t.least(j, widths[j], floor) && (widest < 0 || narrowed[j] > narrowed[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			break // line cuts what is too long all the same
		}
		narrowed[widest]--
	}
	return keep, narrowed
}

// least is how narrow a column can be.
func (t *Table) least(j, natural, floor int) int {
	if t.Columns[j].kind != free {
		return natural
	}
	return min(natural, max(floor, cells(t.Columns[j].Title)))
}

// line is one row, nil: the header.
func (t *Table) line(screen Screen, row []string, keep, widths []int) string {
	var line strings.Builder
	used := 0
	for i, j := range keep {
		cell := t.Columns[j].Title
		if row != nil {
			cell = row[j]
		}
		most := widths[j]
		if screen.Width > 0 {
			most = min(most, screen.Width-used)
		}
		cell = Cut(cell, max(most, 0))
		wide := cells(cell)
		switch {
		case row == nil:
			line.WriteString(screen.Sgr("1", cell))
		case t.statusAt(row, j):
			line.WriteString(screen.paint(row[j], cell))
		default:
			line.WriteString(cell)
		}
		used += wide
		if i < len(keep)-1 && !blank(row, keep[i+1:]) {
			pad := widths[j] - wide + gap
			if screen.Width > 0 {
				pad = min(pad, screen.Width-used)
			}
			line.WriteString(strings.Repeat(" ", max(pad, 0)))
			used += pad
		}
	}
	return strings.TrimRight(line.String(), " ")
}

// blank says that no further cell of a row has anything: no blanks stand at the end of a line.
func blank(row []string, rest []int) bool {
	return row != nil && !slices.ContainsFunc(rest, func(j int) bool { return row[j] != "" })
}
