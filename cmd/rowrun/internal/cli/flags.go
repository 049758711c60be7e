package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// choiceValue is a flag that takes one of a few words.
type choiceValue struct {
	value   *string
	choices []string
}

// Choice adds a flag that takes one of choices.
func Choice(flags *pflag.FlagSet, p *string, name, value, usage string, choices ...string) {
	*p = value
	flags.Var(&choiceValue{value: p, choices: choices}, name, usage)
}

func (c *choiceValue) String() string { return *c.value }
func (c *choiceValue) Type() string   { return strings.Join(c.choices, "|") }
func (c *choiceValue) form() string   { return strings.Join(c.choices, ", ") }

func (c *choiceValue) Set(value string) error {
	if !slices.Contains(c.choices, value) {
		return errors.New("not one of " + c.form())
	}
	*c.value = value
	return nil
}

// listValue is a flag that takes names separated by commas. Given several
// times, the last one counts, as for every other flag.
type listValue struct{ value *[]string }

// List adds a flag that takes names separated by commas.
func List(flags *pflag.FlagSet, p *[]string, name string, value []string, usage string) {
	*p = value
	flags.Var(&listValue{value: p}, name, usage)
}

func (l *listValue) String() string { return strings.Join(*l.value, ",") }
func (l *listValue) Type() string   { return "names" }

func (l *listValue) Set(value string) error {
	var names []string
	if value == "" {
		*l.value = nil
		return nil
	}
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			return errors.New("an empty name")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	*l.value = names
	return nil
}

// Choices are the words that a flag takes, nil where it takes others.
func Choices(flag *pflag.Flag) []string {
	if choice, ok := flag.Value.(*choiceValue); ok {
		return choice.choices
	}
	return nil
}
