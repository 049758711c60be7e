package sqlexec

import (
	"strings"
	"unicode/utf8"
)

// headWords is how many leading words of a statement are kept to tell what it is.
const headWords = 6

// statement is one statement of a text.
type statement struct {
	text   string // with the comments before it, without its semicolon
	offset int    // of text in the whole, in bytes
	head   int    // where in text its first token begins, in bytes
	place  place  // of that token in the whole
	words  []string
	// client is true for a COPY from or to the client.
	client bool
}

// place is a position for people: both count from 1, the second in characters.
type place struct{ line, char int }

// splitter collects the tokens of one statement.
type splitter struct {
	start, head, end int // byte offsets; head is -1 before the first token
	words            []string
	previous         string // the last token: upper-case words, "." or ""
	parens           int
	atomic           int // depth of BEGIN ATOMIC … END, with the CASE … END inside
	client           bool
}

// split cuts a text at the semicolons that end a statement: not those in quotes,
// comments, parentheses (CREATE RULE) and BEGIN ATOMIC … END. What lies between
// the statements is semicolons, white space and comments.
func split(text string) ([]statement, error) {
	if n := strings.IndexByte(text, 0); n >= 0 {
		return nil, &textError{n, "a NUL character, which PostgreSQL does not take, stands"}
	}
	var (
		out   []statement
		sc    = scanner{text: text}
		at    = cursor{text: text, place: place{1, 1}}
		empty = splitter{start: -1, head: -1}
		cur   = empty
	)
	for {
		tok, err := sc.next()
		if err != nil {
			return nil, err
		}
		switch {
		case tok.kind == kindEnd, tok.kind == kindSemicolon && cur.parens == 0 && cur.atomic == 0:
			if cur.head >= 0 {
				out = append(out, statement{
					text: text[cur.start:cur.end], offset: cur.start, head: cur.head - cur.start,
					place: at.advance(cur.head), words: cur.words, client: cur.client,
				})
			}
			if tok.kind == kindEnd {
				return out, nil
			}
			cur = empty
		case tok.kind == kindBackslash:
			return nil, &textError{tok.start, `a backslash: commands of psql (\copy, \i, …) are not SQL; it stands`}
		case tok.kind == kindSpace:
		default:
			if cur.start < 0 {
				cur.start = tok.start
			}
			if tok.kind != kindComment {
				cur.add(tok, text[tok.start:tok.end])
			}
		}
	}
}

func (s *splitter) add(tok token, text string) {
	if s.head < 0 {
		s.head = tok.start
	}
	s.end = tok.end
	previous := s.previous
	s.previous = ""
	switch tok.kind {
	case kindOpen:
		s.parens++
	case kindClose:
		s.parens = max(s.parens-1, 0)
	case kindWord:
		s.previous = strings.ToUpper(text)
		s.word(previous)
	default:
		if text == "." {
			s.previous = text
		}
	}
}

// word looks at s.previous, now a word, which comes after previous.
func (s *splitter) word(previous string) {
	word := s.previous
	if len(s.words) < headWords {
		s.words = append(s.words, word)
	}
	if previous == "." || previous == "AS" {
		return // a name, whatever it says
	}
	switch {
	case s.atomic > 0 && word == "CASE":
		s.atomic++
	case s.atomic > 0 && word == "END":
		s.atomic--
	case s.atomic == 0 && word == "ATOMIC" && previous == "BEGIN" && s.isRoutine():
		s.atomic = 1
	case s.words[0] == "COPY" && s.parens == 0 && (word == "STDIN" || word == "STDOUT") &&
		(previous == "FROM" || previous == "TO"):
		s.client = true
	}
}

// isRoutine is true in CREATE [OR REPLACE] FUNCTION or PROCEDURE.
func (s *splitter) isRoutine() bool {
	words := s.words
	if len(words) < 2 || words[0] != "CREATE" {
		return false
	}
	words = words[1:]
	if len(words) > 2 && words[0] == "OR" && words[1] == "REPLACE" {
		words = words[2:]
	}
	return words[0] == "FUNCTION" || words[0] == "PROCEDURE"
}

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
