package dbexec

import (
	"fmt"
	"slices"
	"strings"
)

// A variable of the user's (@name) lives as long as its session. An attempt that goes on behind what is applied sends SET again, so
// that what SET gives it is there; what a procedure, a query or a trigger gave it is not, and NULL would be read in its place.

// variable is what a statement does to one.
type variable struct {
	name      string // in upper case; ` and ' for quoted ones, which aren't told apart
	read, set bool   // both: what is done to it can't be told, or is both
}

// variablesOf finds the variables of a statement that is executed, in the order in which it comes to them.
func variablesOf(s *statement, opaque bool) []variable {
	first := s.word(0)
	if first == "SHOW" || first == "KILL" || first == "SET" && s.word(1) == "ROLE" {
		return nil // an @ stands in the name of a login
	}
	f := variableFinder{s: s, opaque: opaque, assigns: first == "SET" && s.word(1) != "STATEMENT", fills: first == "LOAD" || first == "GET"}
	for i, t := range s.tokens {
		f.token(i, t)
		f.before = t
	}
	f.settle()
	return f.all
}

// variableFinder goes through the words of a statement.
type variableFinder struct {
	s       *statement
	opaque  bool // nobody can tell what it does to its variables
	assigns bool // it is a SET
	fills   bool // it only sets them
	depth   int  // of parentheses
	into    bool // within the list behind INTO
	before  string
	last    *variable // what SET gives a value: once that is computed
	all     []variable
}

func (f *variableFinder) settle() {
	if f.last != nil {
		f.all, f.last = append(f.all, *f.last), nil
	}
}

func (f *variableFinder) token(i int, t string) {
	switch {
	case t == "(":
		f.depth++
	case t == ")":
		f.depth--
	case t == "," && f.depth == 0:
		f.settle()
	}
	f.into = t == "INTO" || f.into && (t == "," || t == "@" || f.before == "@")
	if name, behind := variableName(f.s, i+1); t == "@" && name != "@" && f.before != "@" {
		f.variable(i, name, f.s.word(behind))
	}
}

// variable takes one whose name begins behind the i-th token. next is what follows the name.
func (f *variableFinder) variable(i int, name, next string) {
	assigned := next == "=" || next == ":"
	switch {
	case f.assigns && assigned && f.depth == 0 && (i == 1 || f.before == ","):
		f.last = &variable{name: name, set: true}
	case f.opaque || next == ":":
		f.all = append(f.all, variable{name: name, read: true, set: true})
	case f.into || f.fills:
		f.all = append(f.all, variable{name: name, set: true})
	default:
		f.all = append(f.all, variable{name: name, read: true})
	}
}

// variableName reads a name, which may have dots in it, and says where what follows it begins.
func variableName(s *statement, i int) (name string, behind int) {
	name = unquoted(s.word(i))
	for i++; s.word(i) == "." && i+1 < len(s.tokens); i += 2 {
		name += "." + unquoted(s.word(i+1))
	}
	return name, i
}

// unquoted leaves of a quoted name that it is one.
func unquoted(word string) string {
	if word != "" && word[0] == '`' {
		return "`"
	}
	return word
}

// lostVariables follows through a text what an attempt that goes on finds in its variables.
type lostVariables struct {
	given map[string]bool // SET is sent again, or gave it in this session
	lost  map[string]int  // set last by a statement that is not sent again: its index
	some  bool            // one that is not sent again stands before, and may have set others unseen
}

// skip takes note of a statement that is not sent again.
func (l *lostVariables) skip(i int, s *statement) {
	l.some = l.some || s.opaque || !s.commits && s.control == controlNone
	if s.opaque { // a procedure may set any
		clear(l.given)
	}
	for _, v := range s.variables {
		if v.set {
			l.lost[v.name] = i
			delete(l.given, v.name)
		}
	}
}

// send takes note of one that is sent, and says which variable it would find empty. by is the statement that set it, -1: nobody
// knows which.
func (l *lostVariables) send(s *statement) (name string, by int) {
	for _, v := range s.variables {
		setter, lost := l.lost[v.name]
		switch {
		case v.read && lost:
			return v.name, setter
		case v.read && !v.set && l.some && !l.given[v.name]:
			return v.name, -1
		case v.set:
			l.given[v.name] = true
		}
	}
	for _, v := range s.variables {
		if v.set {
			delete(l.lost, v.name)
		}
	}
	if s.opaque {
		l.some = false // what it sets unseen is set in this session
	}
	return "", 0
}

// askOfVariables asks where a statement that is sent reads a variable that went with the session of those that are applied.
func (g *migration) askOfVariables(found *entry) error {
	l := lostVariables{given: map[string]bool{}, lost: map[string]int{}}
	for i := range g.statements {
		s := &g.statements[i]
		if i < found.applied && !s.session {
			l.skip(i, s)
			continue
		}
		name, by := l.send(s)
		if name == "" {
			continue
		}
		why := fmt.Sprintf("statement %d reads %s, which went with the session", i+1, shownVariable(name))
		if by >= 0 {
			return g.ask(found, fmt.Sprintf("%s of statement %d", why, by+1), "it goes on behind what is applied")
		}
		return g.ask(found, why, "it goes on behind what is applied")
	}
	return nil
}

func shownVariable(name string) string {
	if slices.Contains([]string{"`", "'"}, name) {
		return "a variable"
	}
	return "@" + strings.ToLower(name)
}
