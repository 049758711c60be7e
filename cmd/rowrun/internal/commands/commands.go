package commands

import (
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// Root is the command above all others.
func Root(env cli.Environment) *cobra.Command {
	root := cli.Group(&cobra.Command{
		Use:   "rowrun",
		Short: "Rowrun runs the rows of rowrun.task_run: a sidecar for PostgreSQL",
		Long: "Rowrun is a sidecar for PostgreSQL: insert a row into rowrun.task_run, and one healthy replica runs it.\n\n" +
			"Every flag has an environment variable: --stale-after is ROWRUN_STALE_AFTER. Of a command of two words it has\n" +
			"these in it, as in ROWRUN_RUN_LIST_STATUS, unless the flag is a setting that other commands share, such as\n" +
			"--output. A flag wins over its variable, a variable over the default; an empty variable counts as not set.",
		Version: env.Version,
	})
	root.AddCommand(All(env)...)
	return root
}

// All are the commands, in the order of the help.
func All(env cli.Environment) []*cobra.Command {
	return complete(env, []*cobra.Command{
		newServe(env),
		newMigrate(env),
		newStream(env),
		newDev(env),
		newPlan(env),
		newTask(env),
		newType(env),
		newReplicaCommand(env),
		newLimit(env),
		newSchedule(env),
		newWebhook(env),
		newRun(env),
		newStatus(env),
		newCleanup(env),
		newUI(env),
		newDoctor(env),
		newHealthcheck(env),
		newExporter(env),
		newDrain(env),
		newBench(env),
		newDrill(env),
		newCompletion(),
		newVersion(env),
	})
}
