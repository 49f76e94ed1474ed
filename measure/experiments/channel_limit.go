package experiments

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"genreport/measure"
	"genreport/measure/load"
)

// channelLimit asks how many channels a connection may have and who says so:
// channels are opened until the first failure.
func channelLimit() Experiment {
	count := func(text string) measure.Metric {
		return measure.Metric{Unit: measure.Count, Better: measure.Neither, Exact: true, Description: text}
	}
	return Experiment{
		Name:   "channel-limit",
		Title:  "How many channels may a connection have, and who limits it?",
		Method: 1,
		Metrics: map[string]measure.Metric{
			"offered":    count("channel_max that the server offers in Connection.Tune; 0 means no limit"),
			"own":        count("channel_max that the client asks for when the server sets no limit"),
			"negotiated": count("channel_max that the client answers in Connection.TuneOk"),
			"opened":     count("channels opened before the first failure"),
			"listed":     count("channels of the connection in list_connections"),
			"open_time":  {Unit: measure.Seconds, Better: measure.Lower, Description: "time to open them, one after another"},
		},
		Texts: map[string]string{
			"limited_by":       "whose number was agreed on: server, client, both or nobody",
			"error":            "what the client raised when no channel could be opened",
			"list_connections": "channels and channel_max of the connection, as the broker lists them",
		},
		// The counts are exact: repeating them shows only that they are.
		Repeats: func(Profile) int { return 3 },
		Params: func(p Profile) map[string]string {
			return map[string]string{"open_at_most": strconv.Itoa(openAtMost(p))}
		},
		Cases: func(p Profile) []Case {
			var cases []Case
			for _, client := range clients() {
				base := measure.Labels{"client": client, "node": "default", "request": "default"}
				cases = append(cases,
					Case{Labels: base, Estimate: 1600 * time.Millisecond},
					Case{Labels: with(base, "request", "100"), Estimate: 700 * time.Millisecond})
				for _, limit := range []string{"16", "0"} {
					c := Case{Labels: with(base, "node", "channel_max="+limit), Settings: map[string]string{"channel_max": limit}, Estimate: 600 * time.Millisecond}
					if limit == "0" {
						c.Estimate = 1600 * time.Millisecond
					}
					cases = append(cases, c)
				}
				if client == "pika" { // more for each channel, the more there are
					cases[len(cases)-4].Estimate = 2700 * time.Millisecond
					cases[len(cases)-1].Estimate = 3 * time.Second
					if p != Quick {
						cases[len(cases)-1].Estimate = 170 * time.Second
					}
				}
			}
			return cases
		},
		Measure: measureChannelLimit,
		Brokers: current(),
	}
}

// openAtMost bounds the attempt: 65,535 is the largest channel number that
// AMQP has, so one more than that can never be opened.
func openAtMost(p Profile) int { return p.pick(2560, 65536, 65536) }

func measureChannelLimit(ctx context.Context, env Env, c Case) (Sample, error) {
	request := 0
	if r := c.Labels["request"]; r != "default" {
		var err error
		if request, err = number(c.Labels, "request"); err != nil {
			return Sample{}, err
		}
	}
	most := openAtMost(env.Profile)
	client, err := connect(ctx, env, c, load.Job{Role: load.OpenChannels, Channels: most, ChannelMax: request, Limit: 900})
	if err != nil {
		return Sample{}, err
	}
	defer client.Stop()
	r, err := openChannels(ctx, env.Broker, client)
	if err != nil {
		return Sample{}, err
	}
	t := r.ready.Tune
	s := Sample{
		Values: map[string]measure.Value{
			"offered":    measure.Int(int64(t.Offered)),
			"own":        measure.Int(int64(t.Own)),
			"negotiated": measure.Int(int64(t.Agreed)),
			"opened":     measure.Int(int64(r.Opened)),
			"open_time":  measure.Float(r.Elapsed),
		},
		Texts:   map[string]string{"limited_by": limitedBy(t), "error": strings.TrimSpace(r.Error)},
		Clients: []measure.Client{describe(c, r.ready)},
		CPU:     r.cpu,
	}
	if r.Error == "" {
		s.Values["opened"] = measure.Missing(fmt.Sprintf("no failure up to %d channels, where the attempt ends", most))
		delete(s.Texts, "error")
	}
	s.Values["listed"], s.Texts["list_connections"] = listedChannels(ctx, env)
	if s.Texts["list_connections"] == "" {
		delete(s.Texts, "list_connections")
	}
	return s, client.Stop()
}

// limitedBy says whose number was agreed on: server, client, both (the same
// number) or nobody.
func limitedBy(t load.Tune) string {
	switch {
	case t.Offered == 0 && t.Own == 0:
		return "nobody"
	case t.Offered == t.Own:
		return "both"
	case t.Own == 0 || t.Offered != 0 && t.Offered < t.Own:
		return "server"
	}
	return "client"
}

// listedChannels is the largest number of channels that list_connections shows
// for a connection, which is ours: nobody else has channels on a node of ours.
func listedChannels(ctx context.Context, env Env) (measure.Value, string) {
	list, err := env.Broker.Connections(ctx)
	for range 20 { // one that has ended may be listed for a moment
		if err != nil || len(list) == 1 {
			break
		}
		if sleep(ctx, 500*time.Millisecond) != nil {
			break
		}
		list, err = env.Broker.Connections(ctx)
	}
	if err != nil {
		return unavailable(err), ""
	}
	if len(list) != 1 {
		return measure.Missing(fmt.Sprintf("list_connections shows %d connections, want just ours", len(list))), ""
	}
	c := list[0]
	return measure.Int(int64(c.Channels)), fmt.Sprintf("channels\tchannel_max\n%d\t%d", c.Channels, c.ChannelMax)
}
