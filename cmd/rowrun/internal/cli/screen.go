package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
)

// Screen is what is known of who reads an output.
type Screen struct {
	// Width is how many cells a line has; 0: no limit, as in a file or a pipe.
	Width int
	// Height is how many lines are seen at once; 0: not known.
	Height int
	// Color says that colours are shown, Symbols that statuses have their icon.
	Color, Symbols bool
	// Moves says that the cursor can be moved: what was written is written over.
	Moves bool
}

// leastWidth is the narrowest screen that tables are fitted to: below it lines are broken by the terminal.
const leastWidth = 20

// ScreenOf looks at what an output goes to. Of the variables NO_COLOR and TERM=dumb take from what a terminal can do, and
// COLUMNS says how wide a line is, also in a file.
func ScreenOf(w io.Writer, lookup func(string) (string, bool)) Screen {
	var s Screen
	if file, ok := terminal(w); ok {
		kind, _ := lookup("TERM")
		plain, _ := lookup("NO_COLOR")
		able := kind != "dumb"
		s = Screen{Width: 80, Symbols: able, Moves: able, Color: able && plain == ""}
		if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			s.Width, s.Height = width, height
		}
	}
	if given, ok := lookup("COLUMNS"); ok {
		if width, err := strconv.Atoi(given); err == nil && width > 0 {
			s.Width = width
		}
	}
	if s.Width > 0 {
		s.Width = max(s.Width, leastWidth)
	}
	return s
}

// terminal is the terminal that w writes to.
func terminal(w io.Writer) (*os.File, bool) {
	if behind, ok := w.(interface{ behind() io.Writer }); ok {
		w = behind.behind()
	}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, false
	}
	return file, true
}

// IsTerminal says that what is written to w is seen by a person.
func IsTerminal(w io.Writer) bool {
	_, is := terminal(w)
	return is
}

// CanBeAsked says that a person answers there.
func CanBeAsked(r io.Reader) bool {
	file, ok := r.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// InColor says that colours are shown there.
func InColor(w io.Writer) bool { return ScreenOf(w, os.LookupEnv).Color }

// Status is a text that begins with a status, with its icon.
func (s Screen) Status(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if look, ok := statuses.Of(word); ok && s.Symbols {
		return look.Icon + " " + text
	}
	return text
}

// paint puts the colour of the status that stands in a cell around what is left of the cell.
func (s Screen) paint(cell, text string) string {
	for _, word := range strings.Fields(cell) {
		if look, ok := statuses.Of(word); ok {
			return s.Sgr(look.SGR, text)
		}
	}
	return text
}

// Sgr puts a colour or another rendition around a text, where colours are shown.
func (s Screen) Sgr(parameters, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + parameters + "m" + text + "\x1b[0m"
}

// cells is how wide a text is on a screen: a Chinese character and an emoji take two cells.
func cells(text string) int { return displaywidth.String(text) }

// Cut shortens a text to so many cells. What is left out is its middle: beginnings tell what it is, ends tell it from others.
func Cut(text string, most int) string {
	const widest = 64 // bytes of a cell: those of a text that somebody made longer aren't all looked at
	if end := max(most, 1) * widest; len(text) > 2*end {
		text = strings.ToValidUTF8(text[:end], "") + "…" + strings.ToValidUTF8(text[len(text)-end:], "")
	}
	if cells(text) <= most {
		return text
	}
	if most < 1 {
		return ""
	}
	var pieces []string // what is one character for the reader
	var widths []int
	graphemes := displaywidth.StringGraphemes(text)
	for graphemes.Next() {
		pieces, widths = append(pieces, graphemes.Value()), append(widths, graphemes.Width())
	}
	room := most - 1
	first, last := 0, len(pieces)
	for left := (room + 1) / 2; first < last && widths[first] <= left; first++ {
		left -= widths[first]
		room -= widths[first]
	}
	for ; last > first && widths[last-1] <= room; last-- {
		room -= widths[last-1]
	}
	return strings.Join(pieces[:first], "") + "…" + strings.Join(pieces[last:], "")
}
