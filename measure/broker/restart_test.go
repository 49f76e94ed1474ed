package broker

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"genreport/measure/debian"
)

// pika runs a script in the root file system of forky, with the broker's URI as
// its argument, and returns what it prints.
func pika(t *testing.T, b *Broker, script string) string {
	t.Helper()
	cmd := rootfs(t, "forky").Command(context.Background(), debian.CommandOptions{}, "python3", "-c", script, b.URI())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pika: %v\n%s", err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// What was confirmed survives a crash, and the broker is the same afterwards.
func TestKillAndRestart(t *testing.T) {
	for _, suite := range []string{"forky", "bookworm"} {
		t.Run(suite, func(t *testing.T) { testKillAndRestart(t, suite) })
	}
}

func testKillAndRestart(t *testing.T, suite string) {
	r := rootfs(t, suite)
	ctx := context.Background()
	b, err := Start(ctx, r, Config{Settings: map[string]string{"channel_max": "17"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	pika(t, b, `
import pika, sys
c = pika.BlockingConnection(pika.URLParameters(sys.argv[1]))
ch = c.channel()
ch.confirm_delivery()
ch.queue_declare("kept", durable=True)
for i in range(100):
    ch.basic_publish("", "kept", b"%d" % i, pika.BasicProperties(delivery_mode=2), mandatory=True)
`)
	if suite == "bookworm" {
		// Mnesia, in which 3.10 keeps what queues there are, writes its log up to
		// two seconds later: a queue declared just before a crash may be gone.
		time.Sleep(4 * time.Second)
	}
	uri, name, first := b.URI(), b.node.name, b.Done()
	if err := b.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-first:
	default:
		t.Error("killed, and not done")
	}
	if _, err := dialGreet(ctx, dialTCP, loopbackAddress(b.node.ports.amqp)); err == nil {
		t.Error("a killed node answers")
	}
	if _, err := b.CPU(); err == nil {
		t.Error("a killed node has a CPU time")
	}
	if err := b.Kill(ctx); err != nil {
		t.Errorf("killed again: %v", err)
	}
	if err := b.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if b.URI() != uri || b.Done() == first {
		t.Errorf("address %s, before %s; same channel: %v", b.URI(), uri, b.Done() == first)
	}
	select {
	case <-b.Done():
		t.Error("restarted, and done")
	default:
	}
	depth := pika(t, b, `
import pika, sys
c = pika.BlockingConnection(pika.URLParameters(sys.argv[1]))
print(c.channel().queue_declare("kept", passive=True).method.message_count)
`)
	if depth != "100" {
		t.Errorf("%s messages after the crash, want 100", depth)
	}
	if got, err := b.Eval(ctx, "{node(), application:get_env(rabbit, channel_max)}"); err != nil || got != "{'"+name+"',{ok,17}}" {
		t.Errorf("after the crash: %s, %v", got, err)
	}
	// One that runs is killed by Restart.
	second := b.Done()
	if err := b.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-second:
	default:
		t.Error("restarted beside the running one")
	}
	if cpuOf(t, b) <= 0 {
		t.Error("no CPU time")
	}
	// A start that is given up leaves a node that can be started.
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if err := b.Restart(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up: %v", err)
	}
	select {
	case <-b.Done():
	default:
		t.Error("given up, and not done")
	}
	// Stop ends a restart that waits.
	failed := make(chan error)
	go func() { failed <- b.Restart(ctx) }()
	time.Sleep(300 * time.Millisecond)
	begin := time.Now()
	if err := b.Stop(); err != nil || time.Since(begin) > 8*time.Second {
		t.Errorf("stop: %v after %v", err, time.Since(begin))
	}
	if err := <-failed; !errors.Is(err, errStopped) {
		t.Errorf("restart of a node that is stopped meanwhile: %v", err)
	}
	if err := b.Restart(ctx); !errors.Is(err, errStopped) {
		t.Errorf("restart of a stopped node: %v", err)
	}
	if err := b.Kill(ctx); !errors.Is(err, errStopped) {
		t.Errorf("kill of a stopped node: %v", err)
	}
}
