// Package load is the client side of a measurement: the processes that put
// load on a broker, and the conversation with them.
//
// A load client is a process that reads one JSON [Job] on standard input and
// writes [Message] lines on standard output:
//
//  1. it reads the job, connects, and says "ready";
//  2. it waits for the line "start", does the work, and says "result";
//  3. it keeps what it opened until the line "stop", or the end of standard
//     input, and leaves.
//
// A job that fails says "error" instead, with the result as far as it came: the
// counts of a publisher add up whatever happened to its connection. Work that
// has no end of its own, such as consuming, ends with "stop", and the result
// comes before the client leaves.
//
// Nothing else passes between the two, so any command that can start a process
// somewhere (ssh, kubectl exec) can place a client there. A client whose
// standard input ends stops at once: it never outlives who started it.
//
// [Work] is the Go client; pika.py beside it is the Python one, which opens
// channels and publishes as fast as it can, and refuses the rest. A third is one
// more program that keeps to the three steps.
//
// # Latency
//
// A publisher with a rate is an open loop: message i is to be sent at the start
// plus i/rate, whatever became of those before it, and every latency counts from
// that time. A sender that was held up, by the broker or by its own machine,
// sends at once until it has caught up. So a broker that stands still for 200 ms
// shows in each message that was to be sent meanwhile, and not in one of them.
// What the client itself added is told apart: the histogram of send delays, from
// the intended to the actual send, and the number of sends that were late by
// more than [LateAfter]. Latencies that are no longer than these delays say
// nothing of the broker.
//
// Confirm latencies are those of messages that the broker acked; nacked and
// unconfirmed ones have none and are counted. Delivery latencies compare one
// clock, CLOCK_MONOTONIC, read by two processes: they are recorded where both
// run on the same machine, and for the first delivery of each message. Numbered
// messages carry their time and number ([StampSize]), which is how a consumer
// knows what was lost, doubled or reordered.
//
// Without a rate a message is due when it is sent: that loop is closed by the
// window of outstanding confirms, and its latencies are those of a client that
// waits for its turn.
package load
