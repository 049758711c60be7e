package migrations

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A file of code is cut into statements as psql cuts it: at semicolons, but for those in quotes, in dollar quotes, in
// comments, and between BEGIN ATOMIC and its END.

// token is a piece of SQL; comments and spaces are none.
type token struct {
	kind tokenKind
	text string
	at   int // offset in the file
}

type tokenKind int

const (
	word   tokenKind = iota // a name or a key word, or a number
	quoted                  // "a name"
	str                     // 'text', $$text$$
	sign                    // one character of the rest
)

// is compares with a key word.
func (t token) is(keyword string) bool { return t.kind == word && strings.EqualFold(t.text, keyword) }

func (t token) isSign(sign_ string) bool { return t.kind == sign && t.text == sign_ }

// statement is one, without its semicolon.
type statement struct {
	tokens []token
	text   string // from its first token on
	line   int    // of its first token
}

// sourceError says where in a file of code what is.
type sourceError struct {
	path string
	line int
	what string
}

func (e *sourceError) Error() string { return fmt.Sprintf("%s:%d: %s", e.path, e.line, e.what) }

func lineAt(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }

// statements cuts the text of a file.
func statements(path, text string) ([]statement, error) {
	tokens, err := lex(path, text)
	if err != nil {
		return nil, err
	}
	var list []statement
	begun, atomic := 0, 0
	for i, t := range tokens {
		switch {
		case t.is("ATOMIC") && i > begun && tokens[i-1].is("BEGIN"), t.is("CASE") && atomic > 0:
			atomic++
		case t.is("END") && atomic > 0:
			atomic--
		case t.isSign(";") && atomic == 0:
			if i > begun {
				first := tokens[begun].at
				list = append(list, statement{tokens[begun:i], strings.TrimSpace(text[first:t.at]), lineAt(text, first)})
			}
			begun = i + 1
		}
	}
	if begun < len(tokens) {
		return nil, &sourceError{path, lineAt(text, tokens[begun].at), "this statement has no semicolon"}
	}
	return list, nil
}

func lex(path, text string) ([]token, error) {
	var tokens []token
	for at := 0; at < len(text); {
		rest := text[at:]
		r, size := utf8.DecodeRuneInString(rest)
		var kind tokenKind
		end := -1 // of the token in rest; below 0: it isn't closed
		switch {
		case unicode.IsSpace(r):
			at += size
			continue
		case strings.HasPrefix(rest, "--"):
			if newline := strings.IndexByte(rest, '\n'); newline >= 0 {
				at += newline
			} else {
				at = len(text)
			}
			continue
		case strings.HasPrefix(rest, "/*"):
			if end = comment(rest); end >= 0 {
				at += end
				continue
			}
		case r == '\'':
			escapes := len(tokens) > 0 && tokens[len(tokens)-1].is("E") && tokens[len(tokens)-1].at == at-1
			kind, end = str, closing(rest, '\'', escapes)
		case r == '"':
			kind, end = quoted, closing(rest, '"', false)
		case r == '$' && dollar(rest) != "":
			tag := dollar(rest)
			kind = str
			if body := strings.Index(rest[len(tag):], tag); body >= 0 {
				end = body + 2*len(tag)
			}
		case isWord(r):
			kind, end = word, len(rest)
			if other := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) && r != '$' }); other >= 0 {
				end = other
			}
		default:
			kind, end = sign, size
		}
		if end < 0 {
			return nil, &sourceError{path, lineAt(text, at), "what begins here is not closed"}
		}
		tokens = append(tokens, token{kind, rest[:end], at})
		at += end
	}
	return tokens, nil
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// closing is the end of what is quoted at the start of rest; a doubled quote is part of it.
func closing(rest string, quote byte, escapes bool) int {
	for i := 1; i < len(rest); i++ {
		switch {
		case escapes && rest[i] == '\\':
			i++
		case rest[i] == quote && i+1 < len(rest) && rest[i+1] == quote:
			i++
		case rest[i] == quote:
			return i + 1
		}
	}
	return -1
}

// comment is the end of a /* comment */, which may hold others.
func comment(rest string) int {
	depth := 0
	for i := 0; i+1 < len(rest); i++ {
		switch rest[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// dollar is the dollar quote that rest begins with, empty where it begins with none.
func dollar(rest string) string {
	for i, r := range rest[1:] {
		switch {
		case r == '$':
			return rest[:i+2]
		case !isWord(r) || i == 0 && unicode.IsDigit(r):
			return ""
		}
	}
	return ""
}
