// SPDX-License-Identifier: MIT
// gonet [CMD ARG...]: goroutines that compute until the end of stdin; then runs CMD. Package net
// needs libc, which Go's own linker adds: such a program does not begin in libc, as one with C code
// of its own does.
package main

import (
	"io"
	"net"
	"os"
	"os/exec"
)

func compute(done <-chan bool) {
	for sum := 0; ; sum++ {
		select {
		case <-done:
			return
		default:
		}
	}
}

func main() {
	done := make(chan bool)

	net.LookupPort("tcp", "http")
	for i := 0; i < 3; i++ {
		go compute(done)
	}
	io.Copy(io.Discard, os.Stdin)
	close(done)
	if len(os.Args) > 1 && exec.Command(os.Args[1], os.Args[2:]...).Run() != nil {
		os.Exit(1)
	}
}
