package crontab

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Entry is one line that starts something.
type Entry struct {
	Line     int
	Name     string            // made of the command's; unique in its crontab
	Schedule string            // five fields, or one of @hourly to @yearly
	TimeZone string            // of CRON_TZ above it; "": the machine's
	User     string            // of a system's crontab
	Shell    string            // of SHELL above it
	Command  string            // the command line, for the shell
	Env      map[string]string // the variables that were set above it
}

// Crontab is a crontab as it was read.
type Crontab struct {
	Entries []Entry
	// Notes say what means something else here, or is left out, with its line.
	Notes []string
	// Refused are lines that can't be taken over.
	Refused []string
}

// Parse reads a crontab. system: its lines name a user in the sixth field, as those of /etc/crontab and /etc/cron.d do.
func Parse(text string, system bool) Crontab {
	p := parser{
		system: system, env: map[string]string{},
		assignment: regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*|"[^"]*"|'[^']*')\s*=\s*(.*)$`),
		word:       regexp.MustCompile(`[^A-Za-z0-9._-]+`),
	}
	for i, line := range strings.Split(text, "\n") {
		p.line(i+1, strings.TrimSpace(strings.TrimSuffix(line, "\r")))
	}
	return p.read
}

type parser struct {
	system           bool
	read             Crontab
	env              map[string]string
	assignment, word *regexp.Regexp
}

func (p *parser) note(n int, format string, args ...any) {
	p.read.Notes = append(p.read.Notes, fmt.Sprintf("line %d: ", n)+fmt.Sprintf(format, args...))
}

func (p *parser) refuse(n int, format string, args ...any) {
	p.read.Refused = append(p.read.Refused, fmt.Sprintf("line %d: ", n)+fmt.Sprintf(format, args...))
}

func (p *parser) line(n int, line string) {
	if line == "" || strings.HasPrefix(line, "#") {
		return
	}
	if found := p.assignment.FindStringSubmatch(line); found != nil {
		p.assign(n, unquoted(found[1]), unquoted(found[2]))
		return
	}
	schedule, rest, ok := split(line)
	if !ok {
		p.refuse(n, "is neither NAME=value nor a schedule and a command: %s", line)
		return
	}
	e := Entry{Line: n, Schedule: schedule, Env: map[string]string{}}
	if p.system {
		var found bool
		if e.User, rest, found = cutField(rest); !found {
			p.refuse(n, "has no command behind the user %s; is it a user's crontab? (then without --system)", e.User)
			return
		}
	}
	if schedule == "@reboot" {
		p.refuse(n, "@reboot: a database doesn't see machines start; use systemd for it: %s", rest)
		return
	}
	if e.Command, ok = command(rest); !ok {
		p.refuse(n, "a %% that isn't written \\%% begins standard input, which commands don't get: put it into a script")
		return
	}
	for name, value := range p.env {
		switch name {
		case "CRON_TZ":
			e.TimeZone = value
		case "SHELL":
			e.Shell = value
		default:
			e.Env[name] = value
		}
	}
	e.Name = p.name(e.Command)
	p.read.Entries = append(p.read.Entries, e)
}

func (p *parser) assign(n int, name, value string) {
	switch {
	case name == "MAILTO" || name == "MAILFROM":
		if value != "" {
			p.note(n, "%s: nothing is mailed; what a command prints is in the run's log, failures go to webhooks and alerts", name)
		}
	case name == "RANDOM_DELAY" || strings.HasPrefix(name, "ROWRUN_"):
		p.note(n, "%s is left out", name)
	case name == "TZ":
		p.env[name] = value
		p.note(n, "TZ goes to the commands; the zone of the schedule is that of CRON_TZ")
	default:
		p.env[name] = value
	}
}

// split takes the schedule from the beginning of a line.
func split(line string) (schedule, rest string, ok bool) {
	fields := 5
	if strings.HasPrefix(line, "@") {
		fields = 1
	}
	var words []string
	rest = line
	for range fields {
		var word string
		if word, rest, ok = cutField(rest); !ok {
			return "", "", false
		}
		words = append(words, word)
	}
	if fields == 5 && strings.IndexFunc(words[0], func(r rune) bool { return !strings.ContainsRune("0123456789*,-/~", r) }) >= 0 {
		return "", "", false
	}
	return strings.Join(words, " "), rest, true
}

// cutField takes the first word of a text; ok: something follows it.
func cutField(text string) (word, rest string, ok bool) {
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		return text, "", false
	}
	return text[:i], strings.TrimLeft(text[i:], " \t"), true
}

// command takes cron's escapes from a command line; !ok: a part of it is standard input.
func command(text string) (string, bool) {
	const percent = "\x00"
	text = strings.ReplaceAll(text, `\%`, percent)
	if strings.Contains(text, "%") {
		return "", false
	}
	return strings.ReplaceAll(text, percent, "%"), true
}

// name is that of the program, with a number where it is not the first.
func (p *parser) name(command string) string {
	name := "cron"
	for _, word := range strings.Fields(command) {
		if strings.Contains(word, "=") || slices.Contains([]string{"cd", "&&", ";", "sudo", "nice", "exec", "test", "[", "-x", "(", "env", "ionice", "flock", "timeout"}, word) || strings.HasSuffix(word, "/") {
			continue
		}
		base := strings.Trim(p.word.ReplaceAllString(path.Base(word), "-"), "-.")
		if base != "" {
			name = base
			break
		}
	}
	free := name
	for i := 2; slices.ContainsFunc(p.read.Entries, func(e Entry) bool { return e.Name == free }); i++ {
		free = name + "-" + strconv.Itoa(i)
	}
	return free
}

func unquoted(text string) string {
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}
