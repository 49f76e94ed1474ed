package load

// Clock is CLOCK_MONOTONIC, for other open loops on the same machine: its
// readings compare across processes.
type Clock = machineClock

// NewClock reads the clock, some times over, to know where it stands.
func NewClock() *Clock { return newMachineClock() }

// RedactText takes a URI, its password, its user and its host out of a text.
func RedactText(text, uri string) string { return redactText(text, uri) }
