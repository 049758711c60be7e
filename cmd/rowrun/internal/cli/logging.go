package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
)

// LogConfig says how much is logged, and in which form.
type LogConfig struct {
	Level  string
	Format string
}

// Register adds --log-level and --log-format.
func (c *LogConfig) Register(flags *pflag.FlagSet) {
	Choice(flags, &c.Level, "log-level", "info", "least level that is logged", "debug", "info", "warn", "error")
	Choice(flags, &c.Format, "log-format", "json", "form of log and stream; console is for people", "json", "console")
}

// Logger writes the process's own log to w.
func (c *LogConfig) Logger(w io.Writer) zerolog.Logger {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		level = zerolog.InfoLevel
	}
	return zerolog.New(c.writer(w)).Level(level).With().Timestamp().Logger()
}

// ForPerson is the log of a command of a person's: at a terminal it is for reading, unless --log-format says otherwise.
func (c *LogConfig) ForPerson(cmd *cobra.Command) zerolog.Logger {
	out, form := cmd.ErrOrStderr(), *c
	if flag := cmd.Flags().Lookup("log-format"); flag != nil && !flag.Changed && IsTerminal(out) {
		form.Format = "console"
	}
	return form.Logger(out)
}

const (
	// logPatience is how long a line of the log may wait for its reader.
	logPatience = time.Second
	// gatherFor is how long a line that nobody waits for may lie here: a replica writes two for each run.
	gatherFor = time.Millisecond
	// gatherMost bounds what lies here.
	gatherMost = 64 << 10
)

// Unhurried is a standard error that neither ends nor holds up this process, whoever reads it or doesn't: lines are
// dropped instead, and counted. Lines of level info and debug that come within a millisecond are written together; Flush must be
// called in the end.
type Unhurried struct {
	out *stream.Output
	to  io.Writer

	mu       sync.Mutex
	gathered []byte
	lines    int  // in gathered
	awaited  bool // a timer will write what is gathered
	dropped  int
}

// NewUnhurried puts an Unhurried before a file or pipe.
func NewUnhurried(to io.Writer) *Unhurried {
	return &Unhurried{out: stream.NewOutput(to, logPatience), to: to}
}

// behind is what the lines go to.
func (u *Unhurried) behind() io.Writer { return u.to }

// WriteLevel writes a line of the log: one that warns, and what came before it, at once.
func (u *Unhurried) WriteLevel(level zerolog.Level, p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gathered = append(u.gathered, p...)
	u.lines++
	switch {
	case level >= zerolog.WarnLevel || len(u.gathered) > gatherMost:
		u.flush()
	case !u.awaited:
		u.awaited = true
		time.AfterFunc(gatherFor, u.Flush)
	}
	return len(p), nil
}

// Write writes at once. It never fails: there is nobody to tell.
func (u *Unhurried) Write(p []byte) (int, error) { return u.WriteLevel(zerolog.NoLevel, p) }

// Flush writes what is gathered.
func (u *Unhurried) Flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.awaited = false
	u.flush()
}

func (u *Unhurried) flush() {
	text, lines := u.gathered, u.lines
	if lines == 0 {
		return
	}
	u.gathered, u.lines = u.gathered[:0], 0
	if u.dropped > 0 {
		if !u.out.Ready() {
			u.dropped += lines
			return
		}
		said := fmt.Sprintf("{\"level\":\"warn\",\"time\":%q,\"count\":%d,\"message\":\"lines of this log could not be written\"}\n",
			time.Now().UTC().Format(zerolog.TimeFieldFormat), u.dropped)
		if _, err := u.out.Write([]byte(said)); err == nil {
			u.dropped = 0
		}
	}
	if _, err := u.out.Write(text); err != nil {
		u.dropped += lines
	}
}

// writer puts the chosen form before w. What is written to it are JSON lines.
func (c *LogConfig) writer(w io.Writer) io.Writer {
	if c.Format == "console" {
		return zerolog.ConsoleWriter{Out: w, NoColor: true, TimeFormat: "15:04:05.000"}
	}
	return w
}

// Printer writes the stream of a shard to w in the chosen form; "": there are no shards.
func (c *LogConfig) Printer(w io.Writer, terminal bool, shard string) (*stream.Printer, error) {
	return stream.NewPrinter(stream.PrinterConfig{Out: w, Text: c.Format == "console", Color: terminal, Shard: shard})
}
