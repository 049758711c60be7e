package sqlexec

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// transactionControl returns the command with which a statement begins or ends a
// transaction, "" if it does neither. Savepoints do neither.
func (s *statement) transactionControl() string {
	if len(s.words) == 0 || s.head >= len(s.text) {
		return ""
	}
	second := ""
	if len(s.words) > 1 {
		second = s.words[1]
	}
	switch first := s.words[0]; first {
	case "BEGIN", "COMMIT", "END", "ABORT":
		return first
	case "START", "PREPARE":
		if second == "TRANSACTION" {
			return first + " " + second
		}
	case "ROLLBACK":
		rest := s.words[1:]
		if second == "WORK" || second == "TRANSACTION" {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0] != "TO" {
			return first
		}
	}
	return ""
}

// manySteps is true for statements that commit more than once outside a
// transaction, so that an error does not mean that nothing has happened.
func (s *statement) manySteps() bool {
	if len(s.words) == 0 {
		return false
	}
	switch s.words[0] {
	case "CALL", "DO", "VACUUM", "CLUSTER", "REINDEX":
		return true
	case "CREATE", "ALTER", "DROP":
		if len(s.words) > 1 && (s.words[1] == "DATABASE" || s.words[1] == "SUBSCRIPTION" || s.words[1] == "TABLESPACE") {
			return true
		}
	}
	return strings.Contains(strings.ToUpper(s.text), "CONCURRENTLY")
}

// shown returns the statement for logs and errors, without the comments before
// it and cut at limit bytes. Where it seems to set a password, its strings are left out.
func (s *statement) shown(limit int) string {
	text := s.text[s.head:]
	if s.mayHoldSecret() {
		text = withoutStrings(text)
	}
	return cut(text, limit)
}

func (s *statement) mayHoldSecret() bool {
	if strings.Contains(strings.ToLower(s.text), "password") {
		return true
	}
	// Connection strings and options of foreign servers.
	return slices.Contains(s.words, "SUBSCRIPTION") || slices.Contains(s.words, "MAPPING") || slices.Contains(s.words, "SERVER")
}

func withoutStrings(text string) string {
	var out strings.Builder
	sc := scanner{text: text}
	for {
		tok, err := sc.next()
		switch {
		case err != nil:
			return "(not shown)"
		case tok.kind == kindEnd:
			return out.String()
		case tok.kind == kindString:
			out.WriteString("'***'")
		case tok.kind != kindComment:
			out.WriteString(text[tok.start:tok.end])
		}
	}
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
