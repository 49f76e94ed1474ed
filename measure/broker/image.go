package broker

import "genreport/measure/debian"

// Image returns what the root file systems of nodes hold: RabbitMQ, the Python
// client with the authorities of public certificates, and ps for whoever looks into it.
func Image() debian.Image {
	return debian.Image{
		Packages: []string{"rabbitmq-server", "python3-pika", "ca-certificates", "procps"},
		Version:  "rabbitmq-server",
		Files: []string{
			"usr/lib/rabbitmq/bin/rabbitmq-server", "usr/lib/rabbitmq/bin/rabbitmqctl", "usr/bin/python3",
			"usr/lib/python3/dist-packages/pika", "etc/ssl/certs/ca-certificates.crt",
		},
		Dirs:   []string{"/var/lib/rabbitmq", "/var/log/rabbitmq"},
		Suites: []string{"bookworm", "trixie", "forky"},
		Recipe: 2,
	}
}
