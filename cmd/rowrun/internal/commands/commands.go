package commands

import (
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

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
		newSchedule(env),
		newWebhook(env),
		newRun(env),
		newStatus(env),
		newDoctor(env),
		newBench(env),
		newCompletion(),
		newVersion(env),
	})
}
