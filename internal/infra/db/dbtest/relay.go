//go:build unix

package dbtest

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Relay forwards connections to a server. While it is silent, it accepts data and neither forwards nor answers it.
type Relay struct {
	Address string
	Silent  atomic.Bool
	Heard   chan struct{} // some data came and was not forwarded

	mu      sync.Mutex
	network string // of the server, like its address
	server  string
	isCut   bool
	open    map[net.Conn]bool
}

// Relayed returns the url of an empty PostgreSQL database whose hosts are n relays.
func Relayed(tb testing.TB, n int) (string, []*Relay) {
	tb.Helper()
	c, name := database(tb, migrated)
	relays, addresses := make([]*Relay, n), make([]string, n)
	for i := range relays {
		relays[i] = StartRelay(tb, "unix", c.socket())
		addresses[i] = relays[i].Address
	}
	return "postgres://postgres@" + strings.Join(addresses, ",") + "/" + name + "?sslmode=disable", relays
}

// StartRelay runs a relay to a server until the test ends.
func StartRelay(tb testing.TB, network, server string) *Relay {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r := &Relay{Address: ln.Addr().String(), Heard: make(chan struct{}, 1), network: network, server: server, open: map[net.Conn]bool{}}
	tb.Cleanup(func() {
		ln.Close()
		r.Cut()
	})
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			go r.connect(client)
		}
	}()
	return r
}

// Cut closes all connections, and each new one immediately, until Mend.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = true
	for c := range r.open {
		c.Close()
	}
	clear(r.open)
}

// Mend undoes Cut.
func (r *Relay) Mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = false
}

// To makes new connections go to another server.
func (r *Relay) To(c *Cluster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.network, r.server = "unix", c.socket()
}

// Connections returns how many connections are open.
func (r *Relay) Connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open) / 2
}

func (r *Relay) connect(client net.Conn) {
	r.mu.Lock()
	network, address, refuses := r.network, r.server, r.isCut
	r.mu.Unlock()
	if refuses { // without a connection to the server
		client.Close()
		return
	}
	server, err := net.Dial(network, address)
	if err != nil {
		client.Close()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isCut {
		client.Close()
		server.Close()
		return
	}
	r.open[client], r.open[server] = true, true
	go r.pass(client, server)
	go r.pass(server, client)
}

func (r *Relay) pass(from, to net.Conn) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, from)
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if r.Silent.Load() {
			if err != nil {
				return
			}
			select {
			case r.Heard <- struct{}{}:
			default:
			}
			continue
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			to.Close()
			return
		}
	}
}
