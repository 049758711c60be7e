package cmdexec

import "time"

// Command is one entry of the configuration's commands.
type Command struct {
	// Path is required: the absolute path of an executable file.
	Path string `yaml:"path"`
	// Args are the arguments; {name} in one stands for args.name of the payload,
	// {{ and }} for braces.
	Args []string `yaml:"args"`
	// Types says what a placeholder takes: string, int, number, bool, date,
	// timestamp, uuid or enum:a|b|c. One that isn't named is a string.
	Types map[string]string `yaml:"types"`
	// Env are variables for the command, beside or instead of PATH and LANG.
	// Names starting with ROWRUN_ are refused.
	Env map[string]string `yaml:"env"`
	// Dir is the working directory, absolute; "": /.
	Dir string `yaml:"dir"`
}

// Config says which commands there are.
type Config struct {
	// Commands by the name that a payload uses.
	Commands map[string]Command
	// Grace is how long a command may go on between SIGTERM and SIGKILL; 0: 5 s.
	Grace time.Duration
}
