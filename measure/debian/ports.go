package debian

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Ports are taken from firstPort on, well above the standard ones of MySQL (3306)
// and RabbitMQ (4369 to 5672, 15672, 25672), and below the ephemeral range.
const (
	firstPort = 9500
	lastPort  = 15000
)

// A Port is a TCP port that no other run on this machine takes while it is held.
type Port struct {
	Number int
	claim  net.Listener
}

// ReservePorts reserves n ports that nothing listens on, on any address. A
// claim on each keeps other runs away between the check and the moment the
// server binds it, which is seconds later.
func ReservePorts(n int) ([]Port, error) {
	var got []Port
	for number := firstPort; number <= lastPort && len(got) < n; number++ {
		claim, err := claimPort(number)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			ReleasePorts(got)
			return nil, fmt.Errorf("reserve port %d: %w", number, err)
		}
		if !PortFree(number) {
			claim.Close()
			continue
		}
		got = append(got, Port{number, claim})
	}
	if len(got) < n {
		ReleasePorts(got)
		return nil, fmt.Errorf("no %d free ports between %d and %d", n, firstPort, lastPort)
	}
	return got, nil
}

// claimPort takes a name in Linux's abstract namespace. It reaches exactly as
// far as the ports do (all users, one network namespace), needs no file that
// two runs would have to agree on, and goes when its holder does. Nobody
// answers there.
func claimPort(number int) (net.Listener, error) {
	return net.Listen("unix", "@genreport/port/"+strconv.Itoa(number))
}

// ReleasePorts lets ports go.
func ReleasePorts(ports []Port) {
	for _, p := range ports {
		if p.claim != nil { // never reserved
			p.claim.Close()
		}
	}
}

// PortFree reports whether the port can be bound on every address. It binds
// without listening, so that nothing can be reached meanwhile.
func PortFree(number int) bool {
	return bindable(syscall.AF_INET, &syscall.SockaddrInet4{Port: number}) &&
		bindable(syscall.AF_INET6, &syscall.SockaddrInet6{Port: number})
}

func bindable(family int, address syscall.Sockaddr) bool {
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		// A machine without IPv6 has nothing listening there.
		return family == syscall.AF_INET6
	}
	defer syscall.Close(fd)
	// As servers do: connections of the past must not block a port.
	syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if family == syscall.AF_INET6 {
		syscall.SetsockoptInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 1)
	}
	err = syscall.Bind(fd, address)
	return err == nil || (family == syscall.AF_INET6 && errors.Is(err, syscall.EADDRNOTAVAIL))
}
