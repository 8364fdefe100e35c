package network

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// groups are the messages of rtnetlink(7) that matter.
const groups = unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR | unix.RTMGRP_IPV4_ROUTE | unix.RTMGRP_IPV6_ROUTE

// open listens to the kernel.
func open() (*source, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("listen for changes of the network: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("listen for changes of the network: %w", err)
	}
	socket := os.NewFile(uintptr(fd), "rtnetlink")
	events := make(chan struct{}, 1)
	go func() {
		defer close(events)
		message := make([]byte, os.Getpagesize())
		for {
			// What a message says does not count: a scan for other radio networks sends some, too, and
			// when there are too many some are lost.
			if _, err := socket.Read(message); err != nil && !errors.Is(err, unix.ENOBUFS) {
				return
			}
			select {
			case events <- struct{}{}:
			default: // one is waiting
			}
		}
	}()
	return &source{events: events, state: state, close: func() {
		_ = socket.Close() // it was only read
		for range events { // until its reader has ended
		}
	}}, nil
}

// state has the addresses of the interfaces that are up, and the default routes.
func state() string {
	var all []string
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLinkLocalUnicast() { // a container's end of a link has no other
				all = append(all, i.Name+" "+a.String())
			}
		}
	}
	all = append(all, defaults("/proc/net/route", "00000000")...)
	all = append(all, defaults("/proc/net/ipv6_route", strings.Repeat("0", 32))...)
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// defaults are the interface and the gateway of each route to anywhere in a table of proc_net(5).
func defaults(table, anywhere string) (all []string) {
	f, err := os.Open(table) //nolint:gosec // below /proc
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it was only read
	for s := bufio.NewScanner(f); s.Scan(); {
		switch f := strings.Fields(s.Text()); {
		case len(f) > 7 && f[1] == anywhere: // IPv4: interface, destination, gateway, ..., mask
			all = append(all, f[0]+" "+f[2])
		case len(f) == 10 && f[0] == anywhere && f[1] == "00" && f[9] != "lo": // IPv6: destination, its length, ..., gateway
			all = append(all, f[9]+" "+f[4])
		}
	}
	return all
}
