"""The pika load client: one job on standard input, JSON lines on standard output.

The conversation is described in doc.go beside this file.
"""
import json
import os
import platform
import resource
import ssl
import sys
import threading
import time

import pika
from pika.channel import MAX_CHANNELS

PROGRESS_EVERY = 20000

# pika's blocking connection waits for each confirm before the next publish, so
# that there is no window to measure; ignoring any of these would be a lie.
UNSUPPORTED = ("rate_per_s", "duration_s", "confirms", "window", "mandatory", "numbered")


def say(kind, **fields):
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def describe(e):
    """Names the exception, with its text if it has one: some of pika's have none."""
    return "%s: %s" % (type(e).__name__, e) if str(e) else type(e).__name__


class Tuned(pika.SelectConnection):
    """Notes what the server offers in Connection.Tune."""

    offered = -1

    def _on_connection_tune(self, method_frame):
        self.offered = method_frame.method.channel_max
        super()._on_connection_tune(method_frame)


class Commands:
    """Lines of standard input; its end stops the process, whatever it is doing."""

    def __init__(self):
        self._lines = []
        self._new = threading.Condition()

    def watch(self):
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in sys.stdin:
            with self._new:
                self._lines.append(line.strip())
                self._new.notify()
        os._exit(0)

    def wait(self, command):
        with self._new:
            while not self._lines:
                self._new.wait()
            line = self._lines.pop(0)
        if line != command:
            raise ValueError("got the line %r, want %r" % (line, command))


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def connect(job):
    params = pika.URLParameters(job["uri"])
    params.heartbeat = 0
    if job.get("channel_max"):
        params.channel_max = job["channel_max"]
    if job.get("ca_pem"):
        context = ssl.create_default_context(cadata=job["ca_pem"])
        params.ssl_options = pika.SSLOptions(context, params.host)
    return params, pika.BlockingConnection(params, _impl_class=Tuned)


def open_channels(job, connection, result):
    while result["opened"] < job["channels"]:
        try:
            connection.channel()
        except Exception as e:  # whatever the library raises is the finding
            if not connection.is_open:
                raise
            result["error"] = describe(e)
            return
        result["opened"] += 1
        if result["opened"] % PROGRESS_EVERY == 0:
            say("progress", done=result["opened"])


def publish(job, channels, result):
    body = b"\0" * job["size_bytes"]
    queue = job["queue"]
    properties = pika.BasicProperties(delivery_mode=1)
    n = len(channels)
    for i in range(job["messages"]):
        channels[i % n].basic_publish("", queue, body, properties)
        if (i + 1) % PROGRESS_EVERY == 0:
            say("progress", done=i + 1)
    result["sent"] = job["messages"]
    # A channel answers after all that was published on it. The queue answers
    # before it has taken in what still waits for it: depth may fall short.
    for channel in channels:
        answer = channel.queue_declare(queue, passive=True)
        result["depth"] = answer.method.message_count
    result["opened"] = n


def work(job, commands):
    params, connection = connect(job)
    impl = connection._impl
    channels = []
    if job["role"] == "publish":
        channels = [connection.channel() for _ in range(job["channels"])]
    say("ready", ready={
        "library": "pika",
        "version": pika.__version__,
        "runtime": "Python " + platform.python_version(),
        "tune": {
            "offered": impl.offered,
            "own": job.get("channel_max") or MAX_CHANNELS,
            "agreed": impl.params.channel_max,
        },
    })
    commands.wait("start")
    result = {"opened": 0, "sent": 0, "depth": 0, "began_unix_ns": time.time_ns()}
    cpu, began = cpu_seconds(), time.perf_counter()
    if job["role"] == "publish":
        publish(job, channels, result)
    else:
        open_channels(job, connection, result)
    result["elapsed_s"] = time.perf_counter() - began
    result["cpu_s"] = cpu_seconds() - cpu
    say("result", result=result)
    commands.wait("stop")
    connection.close()


def main():
    job = json.loads(sys.stdin.readline())
    if job["role"] not in ("open-channels", "publish"):
        raise ValueError("role not supported: %r" % job["role"])
    asked = [key for key in UNSUPPORTED if job.get(key)]
    if asked:
        raise ValueError("role not supported: publish with " + ", ".join(asked))
    out_of_time = threading.Timer(job["limit_s"], give_up)
    out_of_time.daemon = True
    out_of_time.start()
    commands = Commands()
    commands.watch()
    work(job, commands)


def give_up():
    say("error", error="the job's time limit has passed")
    os._exit(1)


if __name__ == "__main__":
    try:
        main()
    except Exception as e:
        say("error", error=describe(e))
        sys.exit(1)
