// SPDX-License-Identifier: MIT
// gonet: goroutines that compute until the end of stdin. Package net needs libc, which Go's own
// linker adds: such a program does not begin in libc, as one with C code of its own does.
package main

import (
	"io"
	"net"
	"os"
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
}
