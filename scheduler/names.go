package scheduler

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// What the columns take.
const (
	maxWordBytes = 100
	maxNameBytes = 200
	// maxIDName is how much of its name a replica's id begins with.
	maxIDName = 60
)

// CheckWord refuses the name of a queue or of a task type that no task can have.
func CheckWord(name string) error {
	if name == "" {
		return errors.New("a name is empty")
	}
	return checkName("a name ", name, maxWordBytes)
}

// checkNames refuses names that no column takes: with them a replica would try for ever to register.
func (c *Config) checkNames() error {
	if err := CheckReplicaName(c.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	for _, queue := range c.Queues {
		if err := CheckWord(queue); err != nil {
			return fmt.Errorf("queues: %w", err)
		}
	}
	for kind, executor := range c.Executors {
		if err := CheckWord(kind); err != nil {
			return fmt.Errorf("executors: %w", err)
		}
		if f, function := executor.(ExecutorFunc); executor == nil || function && f == nil {
			return fmt.Errorf("executors: that of %q is nil", kind)
		}
	}
	return nil
}

// CheckReplicaName refuses a name that no replica can have.
func CheckReplicaName(name string) error { return checkName("", name, maxNameBytes) }

func checkName(which, name string, most int) error {
	switch {
	case len(name) > most:
		return fmt.Errorf("%shas %d bytes; accepted: at most %d", which, len(name), most)
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%q is not accepted; accepted: names without control characters", name)
	}
	return nil
}

// ShortName cuts a name that is longer than a replica's may be.
func ShortName(name string) string { return cutName(name, maxNameBytes) }

// cutName leaves no half of a character behind: the database would refuse it.
func cutName(name string, most int) string {
	return strings.ToValidUTF8(name[:min(len(name), most)], "")
}

func newReplicaID(name string) string {
	if name == "" {
		name, _ = os.Hostname()
	}
	return cutName(name, maxIDName) + "-" + uuid.NewString()
}
