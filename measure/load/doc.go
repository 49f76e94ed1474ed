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
// Nothing else passes between the two, so any command that can start a process
// somewhere (ssh, kubectl exec) can place a client there. A client whose
// standard input ends stops at once: it never outlives who started it.
//
// [Work] is the Go client; pika.py beside it is the Python one. A third is one
// more program that keeps to the three steps.
package load
