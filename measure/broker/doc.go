// Package broker makes the RabbitMQ brokers that are measured: nodes started
// in root file systems built from Debian's archive (package debian), and brokers that are
// already there and are given by URL.
//
// Everything a node does stays on the loopback interface, uses nothing of the
// caller's environment, and ends with the process that started it, however
// that ends. Credentials are never part of a label, an error or a log line.
package broker
