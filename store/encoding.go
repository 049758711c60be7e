package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
)

// What a replica writes of a run (its result, progress and log) is UTF-8, and a database in another encoding refuses
// what it can't hold: a run could then never end. Characters that can't be held are written as \u{4e00} instead.

// held says of a character whether a database can hold it.
type held func(rune) bool

// holds is what the store's database can hold; nil: everything, so that there is nothing to look for.
func (s *Store) holds() held {
	name, _ := s.encoding.Load().(string)
	switch name {
	case "", "UTF8":
		return nil
	case "SQL_ASCII":
		return heldByAll // it takes all bytes as they are, and only refuses to make them from \u escapes
	}
	if e := encodingOf(name); e != nil {
		encoder := e.NewEncoder()
		return func(r rune) bool {
			_, err := encoder.String(string(r))
			return err == nil
		}
	}
	return heldAsASCII
}

// holdsSurely is for a text that was refused all the same: PostgreSQL's tables differ here and there from others'.
func (s *Store) holdsSurely() held {
	if name, _ := s.encoding.Load().(string); name == "UTF8" || name == "SQL_ASCII" {
		return heldByAll
	}
	return heldAsASCII
}

func heldByAll(rune) bool { return true }

func heldAsASCII(rune) bool { return false }

// encodingOf is an encoding by the name that PostgreSQL has for it; nil: not known here.
func encodingOf(name string) encoding.Encoding {
	switch name {
	case "LATIN1":
		return charmap.ISO8859_1
	case "LATIN2":
		return charmap.ISO8859_2
	case "LATIN3":
		return charmap.ISO8859_3
	case "LATIN4":
		return charmap.ISO8859_4
	case "LATIN5":
		return charmap.ISO8859_9
	case "LATIN9":
		return charmap.ISO8859_15
	case "ISO_8859_5":
		return charmap.ISO8859_5
	case "ISO_8859_7":
		return charmap.ISO8859_7
	case "WIN1250":
		return charmap.Windows1250
	case "WIN1251":
		return charmap.Windows1251
	case "WIN1252":
		return charmap.Windows1252
	case "WIN1253":
		return charmap.Windows1253
	case "WIN1254":
		return charmap.Windows1254
	case "KOI8R":
		return charmap.KOI8R
	case "EUC_JP":
		return japanese.EUCJP
	case "EUC_KR":
		return korean.EUCKR
	}
	return nil
}

// unstorable is true for an error that says that a text holds what the database can't.
func unstorable(err error) bool {
	code := SQLState(err)
	return code == "22P05" || code == "22021"
}

// execFitting runs a statement whose last argument is a JSON text, which is made to fit.
func (s *Store) execFitting(ctx context.Context, sql, text string, args ...any) (pgconn.CommandTag, error) {
	tag, err := s.pool.Exec(ctx, sql, append(slices.Clone(args), fitJSON(text, s.holds()))...)
	if unstorable(err) {
		tag, err = s.pool.Exec(ctx, sql, append(args, fitJSON(text, s.holdsSurely()))...)
	}
	return tag, err
}

// fitJSON replaces, in a JSON text, the characters that a database can't hold, and \u escapes by the characters
// themselves, as a database makes these from escapes in UTF8 only. nil: nothing is looked for.
func fitJSON(text string, can held) string {
	if can == nil {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	write := func(r rune) {
		switch {
		case r == 0 || utf16.IsSurrogate(r) || r >= utf8.RuneSelf && !can(r):
			fmt.Fprintf(&out, `\\u{%x}`, r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	for text != "" {
		switch c := text[0]; {
		case c == '\\':
			r, size := escaped(text)
			if size < 6 {
				out.WriteString(text[:size])
			} else {
				write(r)
			}
			text = text[size:]
		case c < utf8.RuneSelf:
			out.WriteByte(c)
			text = text[1:]
		default:
			r, size := utf8.DecodeRuneInString(text)
			write(r)
			text = text[size:]
		}
	}
	return out.String()
}

// escaped reads what a backslash begins: a character and the length of its \u escapes, or length 2 (1 at the end of a
// text that is no JSON) for anything else.
func escaped(text string) (rune, int) {
	r, ok := unit(text)
	if !ok {
		return utf8.RuneError, min(2, len(text))
	}
	if low, ok := unit(text[6:]); ok && utf16.IsSurrogate(r) {
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return r, 6
}

// unit reads one \uXXXX.
func unit(text string) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}
