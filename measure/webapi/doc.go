// Package webapi is the system under test of the web API experiments, and the
// load on it: an HTTP API that stores posts in a database, either itself (Sync)
// or through a queue and a consumer (Async, AsyncConfirm), and an open-loop HTTP
// generator.
//
// Each role is a process of its own that reads one JSON [Job] on standard input
// and writes [Message] lines on standard output:
//
//  1. it reads the job, connects, and says "ready"; the API listens by then;
//  2. a generator waits for the line "start", does its work and says "result";
//     the others work at once, until the line "stop": they finish what they have
//     in hand and say "result";
//  3. it leaves.
//
// A job that fails says "error" instead, with the result as far as it came. A
// process whose standard input ends stops at once and never outlives who started
// it. Credentials go over standard input only, and no error repeats them.
// [Serve] is such a process, [Start] begins one.
//
// # What an answer means
//
// POST /posts takes {"title","content"} and, where the client has one, "id".
//
//   - Sync answers 201 once the transaction has committed.
//   - Async answers 202 once the message is handed to the broker's connection.
//     Nobody has confirmed it: it is lost if the connection or the broker ends
//     before it is in the queue and on disk.
//   - AsyncConfirm answers 202 once the broker has confirmed this very message.
//   - 400 says what is wrong with the post.
//   - 503, with Retry-After, says that the database or the broker did not take
//     it in time. The post may be stored even so: a COMMIT or a confirm may have
//     been lost on its way back. Who sends it again with the same id is safe
//     where Unique is set.
//
// No request waits longer than some seconds for the database or the broker. Both
// are connected again in the background, without a restart.
//
// # Latency
//
// The generator's latencies are those of posts that were accepted, and count
// from when a request was to be sent, as those of package load do; a second
// histogram counts from the actual send, to tell the generator's own delay.
package webapi
