package sqlexec

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// kind is what a token is, as far as splitting needs to know.
type kind int

const (
	kindEnd kind = iota
	kindSpace
	kindComment
	kindWord // a keyword or an unquoted identifier
	kindString
	kindIdentifier // quoted
	kindSemicolon
	kindOpen
	kindClose
	kindBackslash
	kindOther
)

// byteOrderMark begins texts that some editors save.
const byteOrderMark = "\ufeff"

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

// scanner finds tokens as PostgreSQL's own scanner (scan.l) does with
// standard_conforming_strings on, which each session here sets.
type scanner struct {
	text string
	pos  int
}

func (s *scanner) next() (token, error) {
	start := s.pos
	k, err := s.scan()
	return token{kind: k, start: start, end: s.pos}, err
}

func (s *scanner) scan() (kind, error) {
	rest := s.text[s.pos:]
	if rest == "" {
		return kindEnd, nil
	}
	switch c := rest[0]; {
	case isSpace(c):
		for s.pos < len(s.text) && isSpace(s.text[s.pos]) {
			s.pos++
		}
		return kindSpace, nil
	case strings.HasPrefix(rest, byteOrderMark):
		s.pos += len(byteOrderMark)
		return kindSpace, nil
	case strings.HasPrefix(rest, "--"):
		s.lineComment()
		return kindComment, nil
	case strings.HasPrefix(rest, "/*"):
		return kindComment, s.blockComment()
	case c == '\'':
		return kindString, s.quoted('\'', "string")
	case c == '"':
		return kindIdentifier, s.quoted('"', "quoted identifier")
	case c == '$':
		return s.dollar()
	case isWordStart(c):
		return s.word()
	case c == ';':
		s.pos++
		return kindSemicolon, nil
	case c == '(':
		s.pos++
		return kindOpen, nil
	case c == ')':
		s.pos++
		return kindClose, nil
	case c == '\\':
		s.pos++
		return kindBackslash, nil
	default:
		s.pos++
		return kindOther, nil
	}
}

func (s *scanner) lineComment() {
	if n := strings.IndexAny(s.text[s.pos:], "\r\n"); n >= 0 {
		s.pos += n
	} else {
		s.pos = len(s.text)
	}
}

func (s *scanner) blockComment() error {
	start, depth := s.pos, 0
	for s.pos < len(s.text) {
		switch rest := s.text[s.pos:]; {
		case strings.HasPrefix(rest, "/*"):
			depth++
			s.pos += 2
		case strings.HasPrefix(rest, "*/"):
			depth--
			s.pos += 2
			if depth == 0 {
				return nil
			}
		default:
			s.pos++
		}
	}
	return &textError{start, "a comment that does not end begins"}
}

// quoted passes a quoted thing in which only the quote itself is special, doubled.
func (s *scanner) quoted(quote byte, what string) error {
	start := s.pos
	s.pos++
	for {
		n := strings.IndexByte(s.text[s.pos:], quote)
		if n < 0 {
			s.pos = len(s.text)
			return &textError{start, "a " + what + " that does not end begins"}
		}
		s.pos += n + 1
		if s.pos == len(s.text) || s.text[s.pos] != quote {
			return nil
		}
		s.pos++
	}
}

// escaped passes the rest of an E'…' string, from its quote on. As in PostgreSQL
// the string goes on, with escapes, in a quote on a later line.
func (s *scanner) escaped(start int) error {
	s.pos++
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case '\\':
			s.pos = min(s.pos+2, len(s.text))
		case '\'':
			s.pos++
			if s.pos < len(s.text) && s.text[s.pos] == '\'' {
				s.pos++
			} else if next, more := s.continuation(); more {
				s.pos = next
			} else {
				return nil
			}
		default:
			s.pos++
		}
	}
	return &textError{start, "a string that does not end begins"}
}

// continuation looks for a quote after white space that contains a newline, and
// returns the position behind that quote.
func (s *scanner) continuation() (next int, more bool) {
	ahead := scanner{text: s.text, pos: s.pos}
	newline := false
	for ahead.pos < len(ahead.text) {
		switch rest := ahead.text[ahead.pos:]; {
		case rest[0] == '\n' || rest[0] == '\r':
			newline = true
			ahead.pos++
		case isSpace(rest[0]):
			ahead.pos++
		case strings.HasPrefix(rest, "--"):
			ahead.lineComment()
		default:
			return ahead.pos + 1, newline && rest[0] == '\''
		}
	}
	return 0, false
}

// dollar passes $tag$…$tag$, or the $ of a parameter.
func (s *scanner) dollar() (kind, error) {
	start, end := s.pos, s.pos+1
	if end < len(s.text) && isWordStart(s.text[end]) {
		for end < len(s.text) && isWordPart(s.text[end]) && s.text[end] != '$' {
			end++
		}
	}
	if end == len(s.text) || s.text[end] != '$' {
		s.pos++
		return kindOther, nil
	}
	tag := s.text[start : end+1]
	s.pos = end + 1
	n := strings.Index(s.text[s.pos:], tag)
	if n < 0 {
		s.pos = len(s.text)
		return kindString, &textError{start, "a dollar-quoted string that does not end begins"}
	}
	s.pos += n + len(tag)
	return kindString, nil
}

func (s *scanner) word() (kind, error) {
	start := s.pos
	for s.pos < len(s.text) && isWordPart(s.text[s.pos]) {
		s.pos++
	}
	if s.pos-start == 1 && (s.text[start] == 'e' || s.text[start] == 'E') &&
		s.pos < len(s.text) && s.text[s.pos] == '\'' {
		return kindString, s.escaped(start)
	}
	return kindWord, nil
}

func isSpace(c byte) bool {
	return c == ' ' || '\t' <= c && c <= '\r'
}

func isWordStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

func isWordPart(c byte) bool {
	return isWordStart(c) || '0' <= c && c <= '9' || c == '$'
}
