package broker

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"genreport/measure/debian"
)

// Plugins are files or directories named by plugin and version; one whose name
// begins with another's is not that one.
func TestPluginsThatAVersionLacks(t *testing.T) {
	root := debian.Rootfs{Dir: t.TempDir()}
	plugins := filepath.Join(root.Dir, "usr/lib/rabbitmq/lib/rabbitmq_server-3.6.1/plugins")
	for _, name := range []string{"rabbitmq_mqtt-3.6.1", "rabbitmq_web_mqtt_examples-3.6.1", "rabbitmq_stomp-3.6.1.ez"} {
		if err := os.MkdirAll(filepath.Join(plugins, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{Plugins: []string{"rabbitmq_mqtt", WebMQTT, "rabbitmq_stomp"}}
	lacking := c.leaveOut(root)
	if !slices.Equal(lacking, []string{WebMQTT}) || !slices.Equal(c.Plugins, []string{"rabbitmq_mqtt", "rabbitmq_stomp"}) {
		t.Errorf("lacks %q, has %q", lacking, c.Plugins)
	}
	b := &Broker{node: &node{lacking: lacking}}
	_, err := b.MQTTURI(true)
	if !errors.Is(err, ErrNotSupported) || err.Error() != "not supported: this version has no plugin rabbitmq_web_mqtt" {
		t.Error(err)
	}
}
