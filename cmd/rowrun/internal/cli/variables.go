package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxConfigBytes is how much of a file of --config is looked at for names of variables.
const maxConfigBytes = 1 << 20

// otherVariables are those that no flag stands for: of `rowrun dev`, of commands that a replica runs, of the worker in
// deploy/workers, and of tests.
func otherVariables() []string {
	return []string{
		"ROWRUN_PG_BIN", "ROWRUN_SAMPLE_WEBHOOK_URL", "ROWRUN_SAMPLE_WEBHOOK_SECRET",
		"ROWRUN_RUN_ID", "ROWRUN_ROOT_ID", "ROWRUN_ATTEMPT", "ROWRUN_URL", "ROWRUN_WORKER_TOKEN", "ROWRUN_SOAK", "ROWRUN_SEED",
	}
}

// ofCluster are the variables that Kubernetes and Docker links make of a service whose name begins with rowrun.
func ofCluster(name, value string) bool {
	if strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://") {
		return true
	}
	return regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT_\d+_(TCP|UDP|SCTP)(_.*)?)$`).MatchString(name)
}

// warnOfVariables says which variables begin with ROWRUN_ and mean nothing to this program: a default that somebody believed
// they had changed is noticed late.
func warnOfVariables(cmd *cobra.Command, env Environment) {
	if env.Environ == nil || strings.HasPrefix(cmd.Name(), "__") {
		return
	}
	var log *zerolog.Logger
	for _, unknown := range unknownVariables(cmd, env.Environ()) {
		if log == nil {
			made := logOf(cmd)
			log = &made
		}
		event := log.Warn().Str("variable", unknown.name)
		if unknown.meant != "" {
			event = event.Str("did_you_mean", unknown.meant)
		}
		event.Msg("this variable means nothing to rowrun")
	}
}

// logOf is the log of a command in its own form, also of one that has no flags for it.
func logOf(cmd *cobra.Command) zerolog.Logger {
	config := LogConfig{Level: "warn", Format: "console"}
	if flag := cmd.Flags().Lookup("log-format"); flag != nil {
		config.Format = flag.Value.String()
	}
	return config.ForPerson(cmd)
}

type unknownVariable struct{ name, meant string }

func unknownVariables(cmd *cobra.Command, environ []string) []unknownVariable {
	known := append(flagVariables(cmd.Root()), otherVariables()...)
	var given []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "ROWRUN_") && value != "" && !slices.Contains(known, name) && !ofCluster(name, value) {
			given = append(given, name)
		}
	}
	if len(given) == 0 {
		return nil
	}
	referred := references(cmd, environ)
	var unknown []unknownVariable
	for _, name := range given {
		if !slices.Contains(referred, name) {
			unknown = append(unknown, unknownVariable{name, nearestBehind("ROWRUN_", name, flagVariables(cmd.Root()))})
		}
	}
	return unknown
}

// flagVariables are those of every flag of every command.
func flagVariables(root *cobra.Command) []string {
	var known []string
	VisitVariables(root, func(name string, _ *cobra.Command, _ *pflag.Flag) { known = append(known, name) })
	return known
}

// references are the names that a flag, a variable or the file of --config mentions as env:NAME: they may be called anything.
func references(cmd *cobra.Command, environ []string) []string {
	text := strings.Join(environ, "\n")
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { text += "\n" + flag.Value.String() })
	if flag := cmd.Flags().Lookup("config"); flag != nil && flag.Value.String() != "" {
		if info, err := os.Stat(flag.Value.String()); err == nil && info.Mode().IsRegular() && info.Size() <= maxConfigBytes {
			file, _ := os.ReadFile(flag.Value.String()) // whoever needs it says what is wrong with it
			text += "\n" + string(file)
		}
	}
	var names []string
	for _, found := range regexp.MustCompile(`env:([A-Za-z_][A-Za-z0-9_]*)`).FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return names
}
