package load

// Kind is one of the load clients that experiments compare.
type Kind struct {
	Label   string // of cells; public
	Batched bool   // the Go client gathers writes
	Script  string // for python3 in a Debian root file system that has pika; "": the Go client
	MQTT    bool   // speaks MQTT instead of AMQP
}

// Kinds lists them. Another client is one more row, and whatever it takes to
// start it; see the package's description for what it must do.
func Kinds() []Kind {
	return []Kind{
		{Label: "go"},                        // amqp091-go as it comes
		{Label: "go-batched", Batched: true}, // amqp091-go on a connection that gathers writes
		{Label: "pika", Script: PikaScript},
		{Label: "paho", MQTT: true}, // paho.mqtt.golang
	}
}

// KindOf finds a kind by its label.
func KindOf(label string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Label == label {
			return k, true
		}
	}
	return Kind{}, false
}
