package dbexec

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// statement is one statement of a text.
type statement struct {
	text   string // with the comments before it, without its delimiter
	offset int    // of text in the whole, in bytes
	head   int    // where in text its first token begins, in bytes
	place  place  // of that token in the whole
	// tokens are what it consists of: words in upper case, quoted names as they are behind a `, ' for a string, other characters as they
	// are.
	tokens []string
	nature
}

// nature is what an engine makes of a statement.
type nature struct {
	// control says that it begins or ends a transaction.
	control control
	// lacks says why it can't be executed here, "": it can.
	lacks string
	// commits is true where it can't be part of a transaction, or ends the one that it is in.
	commits bool
	// outside is true of one that commits where it can't be part of a transaction, and never ends the one that it meets.
	outside bool
	// nests is true where it begins or ends a transaction if it is the outermost of its kind, which the engine knows.
	nests bool
	// opaque is true where nobody can tell from its text what it does: whether it took effect is unknown after any failure.
	opaque bool
	// locks is true where it keeps the session from writing to the ledger.
	locks bool
	// session is true where it only changes the session: an attempt that goes on from a later statement sends it again.
	session bool
	// keeps names what it leaves in the session for the statements that follow, and that can't be sent again by itself.
	keeps string
	// reads names what it reads of the statements before it that only their session knows.
	reads string
	// variables are those of the session (@name) that it reads or sets, as far as its text tells.
	variables []variable
	// harmless is true where it may be sent again.
	harmless bool
	// tells are the engine's errors that say that it took effect before.
	tells []int
	// quiet is true where the engine may answer without an error although the statement was ended.
	quiet bool
	// counts is true where it changes rows, which are counted.
	counts bool
}

// aVariable is what a statement keeps that gives a variable a value which another session may not find again.
const aVariable = "a variable"

type control int

const (
	controlNone control = iota
	controlBegins
	controlEnds
)

// place is a position for people: both count from 1, the second in characters.
type place struct{ line, char int }

// kind is what a token is, as far as splitting needs to know.
type kind int

const (
	kindEnd kind = iota
	kindSpace
	kindComment
	kindWord // a keyword or an unquoted identifier
	kindString
	kindName      // a quoted identifier
	kindDelimiter // ends a statement
	kindOther
)

type token struct {
	kind       kind
	start, end int // byte offsets in the text
}

// textError is something in a text that keeps it from being split.
type textError struct {
	offset int // in bytes
	what   string
}

func (e *textError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.offset) }

// maxTokens is how many tokens of a statement are kept to tell what it is: of a longer one the first and the last two.
const maxTokens = 4096

// byteOrderMark begins texts that some editors save.
const byteOrderMark = "\ufeff"

// cutter makes statements of tokens.
type cutter struct {
	text   string
	out    []statement
	at     cursor
	start  int // byte offsets; -1 before the first token
	head   int
	end    int
	tokens []string
}

func newCutter(text string) (*cutter, error) {
	if n := strings.IndexByte(text, 0); n >= 0 {
		return nil, &textError{n, "a NUL character, which no statement may hold, stands"}
	}
	return &cutter{text: text, at: cursor{text: text, place: place{1, 1}}, start: -1, head: -1}, nil
}

// add takes a token that is no delimiter.
func (c *cutter) add(t token) {
	if t.kind == kindSpace {
		return
	}
	if c.start < 0 {
		c.start = t.start
	}
	if t.kind == kindComment {
		return
	}
	if c.head < 0 {
		c.head = t.start
	}
	c.end = t.end
	word := c.text[t.start:t.end]
	switch t.kind {
	case kindWord:
		word = strings.ToUpper(word)
	case kindString:
		word = "'"
	case kindName:
		word = "`" + word[1:len(word)-1]
	default:
	}
	if len(c.tokens) < maxTokens {
		c.tokens = append(c.tokens, word)
		return
	}
	c.tokens[maxTokens-2], c.tokens[maxTokens-1] = c.tokens[maxTokens-1], word
}

// finish ends the statement at a delimiter or the end of the text.
func (c *cutter) finish() {
	if c.head >= 0 {
		c.out = append(c.out, statement{
			text: c.text[c.start:c.end], offset: c.start, head: c.head - c.start,
			place: c.at.advance(c.head), tokens: c.tokens,
		})
	}
	c.start, c.head, c.end, c.tokens = -1, -1, 0, nil
}

// begun is true where a statement has a token.
func (c *cutter) begun() bool { return c.head >= 0 }

// cursor turns ascending byte offsets into places, reading the text once.
type cursor struct {
	text   string
	offset int
	place  place
}

func (c *cursor) advance(to int) place {
	passed := c.text[c.offset:to]
	if n := strings.Count(passed, "\n"); n > 0 {
		c.place.line += n
		c.place.char = 1
		passed = passed[strings.LastIndexByte(passed, '\n')+1:]
	}
	c.place.char += utf8.RuneCountInString(passed)
	c.offset = to
	return c.place
}

// placeOf returns the place of a byte offset.
func placeOf(text string, offset int) place {
	c := cursor{text: text, place: place{1, 1}}
	return c.advance(min(max(offset, 0), len(text)))
}

// word returns the n-th token, "" behind the last.
func (s *statement) word(n int) string {
	if n < len(s.tokens) {
		return s.tokens[n]
	}
	return ""
}

// has is true where the statement has a token.
func (s *statement) has(word string) bool {
	for _, t := range s.tokens {
		if t == word {
			return true
		}
	}
	return false
}

// command is the statement's first word or two, for logs and errors.
func (s *statement) command() string {
	words := s.tokens
	for len(words) > 0 && !isWordStart(words[0][0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return "statement"
	}
	if len(words) > 1 && isWordStart(words[1][0]) && (s.commits || s.control != controlNone || s.lacks != "") {
		return cut(words[0]+" "+words[1], 60)
	}
	return cut(words[0], 60)
}

// cut shortens a text to at most limit bytes, at a character's end, and shows that it did.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// shown returns the statement for logs, without the comments before it and cut at limit bytes. Where it seems to set a password, its
// strings are left out.
func (s *statement) shown(e engine, limit int) string {
	text := s.text[s.head:]
	if s.mayHoldSecret() {
		text = withoutStrings(e, text)
	}
	return cut(text, limit)
}

func (s *statement) mayHoldSecret() bool {
	lower := strings.ToLower(s.text)
	for _, word := range []string{"password", "identified", "secret", "_key"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return s.has("SERVER") || s.has("MASTER") || s.has("REPLICATION")
}

func withoutStrings(e engine, text string) string {
	var out strings.Builder
	for t, err := range e.tokens(text) {
		switch {
		case err != nil:
			return "(not shown)"
		case t.kind == kindString:
			out.WriteString("'***'")
		case t.kind != kindComment:
			out.WriteString(text[t.start:t.end])
		}
	}
	return out.String()
}

// behindSpace returns the position behind white space and byte order marks.
func behindSpace(text string, pos int) int {
	for pos < len(text) {
		switch {
		case isSpace(text[pos]):
			pos++
		case strings.HasPrefix(text[pos:], byteOrderMark):
			pos += len(byteOrderMark)
		default:
			return pos
		}
	}
	return pos
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isWordStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

func isWordPart(c byte) bool { return isWordStart(c) || '0' <= c && c <= '9' || c == '$' }

// quoted returns the position behind a quoted thing that begins at pos, in which the quote itself is written twice, and with escapes
// a backslash takes the next character.
func quoted(text string, pos int, escapes bool) (end int, ok bool) {
	quote := text[pos]
	for pos++; pos < len(text); pos++ {
		switch c := text[pos]; {
		case escapes && c == '\\':
			pos++
		case c == quote:
			if pos+1 == len(text) || text[pos+1] != quote {
				return pos + 1, true
			}
			pos++
		}
	}
	return len(text), false
}
