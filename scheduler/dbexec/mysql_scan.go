package dbexec

import (
	"iter"
	"strings"
)

// mysqlScanner finds tokens as MySQL and MariaDB do without ANSI_QUOTES and NO_BACKSLASH_ESCAPES, which each session here takes out
// of sql_mode, and delimiters as their command-line clients do.
type mysqlScanner struct {
	text      string
	pos       int
	delimiter string
	inside    bool // a comment whose text is executed
}

// maxDelimiter bounds a DELIMITER.
const maxDelimiter = 16

func (s *mysqlScanner) next() (token, error) {
	start := s.pos
	k, err := s.scan()
	return token{kind: k, start: start, end: s.pos}, err
}

func (s *mysqlScanner) scan() (kind, error) {
	rest := s.text[s.pos:]
	if rest == "" {
		if s.inside {
			return kindEnd, &textError{len(s.text) - 1, "a comment that is executed, begun with /*!, does not end before what"}
		}
		return kindEnd, nil
	}
	switch c := rest[0]; {
	case strings.HasPrefix(rest, s.delimiter):
		s.pos += len(s.delimiter)
		return kindDelimiter, nil
	case isSpace(c), strings.HasPrefix(rest, byteOrderMark):
		s.pos = behindSpace(s.text, s.pos)
		return kindSpace, nil
	case c == '#', strings.HasPrefix(rest, "--") && (len(rest) == 2 || isSpace(rest[2])):
		s.line()
		return kindComment, nil
	case strings.HasPrefix(rest, "/*"):
		return s.comment(rest)
	case s.inside && strings.HasPrefix(rest, "*/"):
		s.inside = false
		s.pos += 2
		return kindSpace, nil
	case c == '\'', c == '"':
		return kindString, s.quoted(true, "string")
	case c == '`':
		return kindName, s.quoted(false, "quoted name")
	case isWordStart(c), '0' <= c && c <= '9':
		s.word()
		return kindWord, nil
	case c == '\\':
		return kindOther, &textError{s.pos, `a backslash: commands of the client (\G, \., …) are not SQL; it stands`}
	default:
		s.pos++
		return kindOther, nil
	}
}

// line passes the rest of a line.
func (s *mysqlScanner) line() {
	if n := strings.IndexByte(s.text[s.pos:], '\n'); n >= 0 {
		s.pos += n
	} else {
		s.pos = len(s.text)
	}
}

// comment passes a comment, or enters one whose text is executed: /*! … */, /*!80000 … */ and MariaDB's /*M! … */.
func (s *mysqlScanner) comment(rest string) (kind, error) {
	if n := executed(rest); n > 0 && !s.inside {
		s.inside = true
		s.pos += n
		return kindSpace, nil
	}
	n := strings.Index(rest[2:], "*/")
	if n < 0 {
		start := s.pos
		s.pos = len(s.text)
		return kindComment, &textError{start, "a comment that does not end begins"}
	}
	s.pos += n + 4
	return kindComment, nil
}

// executed returns how long the beginning of a comment is whose text is executed; 0: it isn't.
func executed(rest string) int {
	var n int
	switch {
	case strings.HasPrefix(rest, "/*!"):
		n = 3
	case strings.HasPrefix(rest, "/*M!"):
		n = 4
	default:
		return 0
	}
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	return n
}

func (s *mysqlScanner) quoted(escapes bool, what string) error {
	start := s.pos
	end, ok := quoted(s.text, s.pos, escapes)
	s.pos = end
	if !ok {
		return &textError{start, "a " + what + " that does not end begins"}
	}
	return nil
}

// word passes a word or number; it ends where the delimiter begins.
func (s *mysqlScanner) word() {
	for s.pos < len(s.text) && isWordPart(s.text[s.pos]) && !strings.HasPrefix(s.text[s.pos:], s.delimiter) {
		s.pos++
	}
}

// command looks for DELIMITER, which is the client's and not the server's: it stands where a statement could begin, and takes the
// rest of its line.
func (s *mysqlScanner) command() (found bool, err error) {
	const word = "DELIMITER"
	rest := s.text[s.pos:]
	if len(rest) < len(word) || !strings.EqualFold(rest[:len(word)], word) || len(rest) > len(word) && !isSpace(rest[len(word)]) {
		return false, nil
	}
	start := s.pos
	s.line()
	fields := strings.Fields(s.text[start+len(word) : s.pos])
	switch {
	case len(fields) == 0:
		return true, &textError{start, "DELIMITER without a delimiter stands"}
	case len(fields) > 1:
		return true, &textError{start, "DELIMITER with more than a delimiter stands"}
	}
	delimiter := fields[0]
	if len(delimiter) > maxDelimiter || strings.ContainsAny(delimiter, "\\'\"`#") || strings.Contains(delimiter, "/*") || strings.Contains(delimiter, "--") {
		return true, &textError{start, "DELIMITER with a delimiter that can't be told from the text (a quote, a backslash, a comment, or more than 16 bytes) stands"}
	}
	s.delimiter = delimiter
	return true, nil
}

// splitMySQL cuts a text at its delimiters.
func splitMySQL(text string) ([]statement, error) {
	c, err := newCutter(text)
	if err != nil {
		return nil, err
	}
	s := mysqlScanner{text: text, delimiter: ";"}
	for {
		if !c.begun() && !s.inside {
			found, err := s.command()
			if err != nil {
				return nil, err
			}
			if found {
				c.finish()
				continue
			}
		}
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		switch t.kind {
		case kindEnd:
			c.finish()
			return c.out, nil
		case kindDelimiter:
			if s.inside {
				return nil, &textError{t.start, "a delimiter within a comment that is executed, begun with /*!, stands"}
			}
			c.finish()
		case kindSpace:
			// The marks of a comment that is executed belong to its statement.
			if strings.HasPrefix(text[t.start:], "/*") && c.start < 0 {
				c.start = t.start
			} else if strings.HasPrefix(text[t.start:], "*/") && c.begun() {
				c.end = t.end
			}
		default:
			c.add(t)
		}
	}
}

// mysqlTokens are the tokens of one statement.
func mysqlTokens(text string) iter.Seq2[token, error] {
	return func(yield func(token, error) bool) {
		s := mysqlScanner{text: text, delimiter: "\x00"}
		for {
			t, err := s.next()
			if err == nil && t.kind == kindEnd || !yield(t, err) || err != nil {
				return
			}
		}
	}
}
