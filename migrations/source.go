package migrations

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// source is an object of the code as a file makes it: a function, procedure, view, trigger or publication with the
// comments on it, or (roles, grants) a whole file of statements that are repeated together.
type source struct {
	kind string
	name string // as DROP takes it: with its schema, and of a function with the types of its arguments
	path string
	line int
	make string   // the statement that makes it; empty for roles and grants
	rest []string // what follows: comments, or the statements of a file of roles or grants
	hash string   // of all of these
	// constraint triggers and publications know no OR REPLACE.
	replace bool
}

const (
	kindFunction    = "function"
	kindProcedure   = "procedure"
	kindView        = "view"
	kindTrigger     = "trigger"
	kindPublication = "publication"
	kindRoles       = "roles"
	kindGrants      = "grants"
)

func (o *source) key() string { return o.kind + " " + o.name }

// texts are all of its statements.
func (o *source) texts() []string {
	if o.make == "" {
		return o.rest
	}
	return append([]string{o.make}, o.rest...)
}

// family is a function's name without its arguments, the key of anything else.
func family(key string) string {
	name, _, _ := strings.Cut(key, "(")
	return name
}

// sources reads the objects of a file. What it doesn't recognise it refuses: nothing is applied that could not be
// found again, and taken back.
func sources(path, text string) ([]*source, error) {
	list, err := statements("code/"+path, text)
	if err != nil {
		return nil, err
	}
	var objects []*source
	byKey := map[string]*source{}
	for _, st := range list {
		fail := func(format string, args ...any) error {
			return &sourceError{"code/" + path, st.line, fmt.Sprintf(format, args...)}
		}
		p := parser{tokens: st.tokens}
		o, on, err := p.statement()
		switch {
		case err != nil:
			return nil, fail("%s", err)
		case o == nil: // a comment
			of, ok := byKey[on]
			if !ok {
				return nil, fail("a comment on %s, which this file doesn't make above it", on)
			}
			of.rest = append(of.rest, st.text)
			continue
		case o.kind == kindGrants:
			o.name = strings.TrimSuffix(path, ".sql")
			if strings.HasPrefix(path, kindRoles+"/") {
				o.kind = kindRoles
			}
			if len(objects) > 0 && objects[0].kind != o.kind {
				return nil, fail("GRANT, REVOKE and DO stand in files of their own, below grants or roles")
			}
			if len(objects) > 0 {
				objects[0].rest = append(objects[0].rest, st.text)
				continue
			}
			o.rest = []string{st.text}
		default:
			if len(objects) > 0 && objects[0].make == "" {
				return nil, fail("%s stands in a file of roles or grants", o.key())
			}
			o.make = st.text
		}
		if other := byKey[o.key()]; other != nil {
			return nil, fail("%s was made in line %d", o.key(), other.line)
		}
		o.path, o.line = path, st.line
		byKey[o.key()] = o
		objects = append(objects, o)
	}
	for _, o := range objects {
		sum := sha256.Sum256([]byte(strings.Join(o.texts(), ";\n")))
		o.hash = hex.EncodeToString(sum[:16])
	}
	return objects, nil
}

// parser reads the beginning of one statement.
type parser struct {
	tokens []token
	next   int
}

// take goes on over these key words, if they are next.
func (p *parser) take(keywords ...string) bool {
	for i, k := range keywords {
		if p.next+i >= len(p.tokens) || !p.tokens[p.next+i].is(k) {
			return false
		}
	}
	p.next += len(keywords)
	return true
}

func (p *parser) takeSign(sign string) bool {
	if p.next < len(p.tokens) && p.tokens[p.next].isSign(sign) {
		p.next++
		return true
	}
	return false
}

// statement says what a statement makes, or on the key of which object it comments.
func (p *parser) statement() (made *source, on string, err error) {
	switch {
	case p.take("CREATE"):
		made, err = p.create()
		return made, "", err
	case p.take("COMMENT", "ON"):
		on, err = p.comment()
		return nil, on, err
	case p.take("GRANT"), p.take("REVOKE"), p.take("DO"):
		return &source{kind: kindGrants}, "", nil
	}
	return nil, "", fmt.Errorf("%q is no statement of the code: it has CREATE of a function, procedure, view, trigger or publication, "+
		"COMMENT ON one, and GRANT, REVOKE and DO; what changes a table is a step in tables/", p.tokens[0].text)
}

func (p *parser) create() (*source, error) {
	o := &source{replace: p.take("OR", "REPLACE")}
	var err error
	switch {
	case p.take("FUNCTION"), p.take("PROCEDURE"):
		o.kind = strings.ToLower(p.tokens[p.next-1].text)
		if o.name, err = p.qualified(); err == nil {
			var types string
			types, err = p.arguments(true)
			o.name += types
		}
	case p.take("VIEW"):
		o.kind = kindView
		o.name, err = p.qualified()
	case p.take("TRIGGER"):
		o.kind = kindTrigger
		o.name, err = p.trigger()
	case p.take("CONSTRAINT", "TRIGGER"):
		o.kind = kindTrigger
		o.name, err = p.trigger()
		return o, err
	case p.take("PUBLICATION"):
		o.kind = kindPublication
		o.name, err = p.name()
		return o, err
	default:
		return nil, fmt.Errorf("CREATE %s is not for the code: tables, indexes and types are made by steps in tables/", p.rest())
	}
	if err == nil && !o.replace {
		err = fmt.Errorf("write CREATE OR REPLACE, so that the file can be applied again")
	}
	return o, err
}

// rest is the next word, for a message.
func (p *parser) rest() string {
	if p.next < len(p.tokens) {
		return p.tokens[p.next].text
	}
	return "nothing"
}

// comment is the key of what a COMMENT ON is about; a view's column is the view's.
func (p *parser) comment() (string, error) {
	var name string
	var err error
	switch {
	case p.take("FUNCTION"), p.take("PROCEDURE"):
		kind := strings.ToLower(p.tokens[p.next-1].text)
		if name, err = p.qualified(); err != nil {
			return "", err
		}
		types, err := p.arguments(false)
		return kind + " " + name + types, err
	case p.take("VIEW"):
		name, err = p.qualified()
		return kindView + " " + name, err
	case p.take("COLUMN"):
		name, err = p.qualified()
		return kindView + " " + name, err
	case p.take("TRIGGER"):
		name, err = p.trigger()
		return kindTrigger + " " + name, err
	case p.take("PUBLICATION"):
		name, err = p.name()
		return kindPublication + " " + name, err
	}
	return "", fmt.Errorf("a comment on a %s is not for the code", strings.ToLower(p.rest()))
}

// name is an identifier as the catalog has it; none of ours needs quotes.
func (p *parser) name() (string, error) {
	if p.next >= len(p.tokens) || p.tokens[p.next].kind != word {
		return "", fmt.Errorf("there is no plain name where one is expected, but %s", p.rest())
	}
	p.next++
	return strings.ToLower(p.tokens[p.next-1].text), nil
}

// qualified is a name in schema rowrun.
func (p *parser) qualified() (string, error) {
	schema, err := p.name()
	if err != nil {
		return "", err
	}
	if schema != "rowrun" || !p.takeSign(".") {
		return "", fmt.Errorf("%s has to be named with its schema, rowrun", schema)
	}
	name, err := p.name()
	return schema + "." + name, err
}

// trigger is "name ON table".
func (p *parser) trigger() (string, error) {
	name, err := p.name()
	if err != nil {
		return "", err
	}
	for p.next < len(p.tokens) && !p.tokens[p.next].is("ON") {
		p.next++
	}
	p.next++
	table, err := p.qualified()
	return name + " ON " + table, err
}

// arguments are the types of a function's arguments in parentheses, without those that it only returns. named: each
// stands behind a name, as in a CREATE.
func (p *parser) arguments(named bool) (string, error) {
	if !p.takeSign("(") {
		return "", fmt.Errorf("the arguments are missing")
	}
	var types []string
	var argument []token
	for depth := 1; ; p.next++ {
		if p.next >= len(p.tokens) {
			return "", fmt.Errorf("the arguments are not closed")
		}
		t := p.tokens[p.next]
		switch {
		case t.isSign("("), t.isSign("["):
			depth++
		case t.isSign(")"), t.isSign("]"):
			depth--
		}
		if depth == 0 || depth == 1 && t.isSign(",") {
			if len(argument) > 0 {
				text, out, err := argumentType(argument, named)
				if err != nil {
					return "", err
				}
				if !out {
					types = append(types, text)
				}
			}
			argument = nil
			if depth == 0 {
				p.next++
				return "(" + strings.Join(types, ", ") + ")", nil
			}
			continue
		}
		argument = append(argument, t)
	}
}

// argumentType is the type of "[mode] name type [DEFAULT …]".
func argumentType(argument []token, named bool) (text string, out bool, err error) {
	if named {
		switch mode := argument[0]; {
		case mode.is("OUT"):
			return "", true, nil
		case mode.is("IN"), mode.is("INOUT"), mode.is("VARIADIC"):
			argument = argument[1:]
		}
		if len(argument) < 2 {
			return "", false, fmt.Errorf("give each argument a name and a type")
		}
		argument = argument[1:]
	}
	var b strings.Builder
	for i, t := range argument {
		if t.is("DEFAULT") || t.isSign("=") {
			break
		}
		if i > 0 && t.kind != sign && argument[i-1].kind != sign {
			b.WriteByte(' ')
		}
		if t.kind == quoted {
			b.WriteString(t.text)
		} else {
			b.WriteString(strings.ToLower(t.text))
		}
	}
	return b.String(), false, nil
}
