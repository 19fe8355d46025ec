// SPDX-License-Identifier: MIT
// cgo [wait]: goroutines that call C in threads created through cgo, a Go signal handler, SIGPIPE
// in C, a recovered nil dereference; with wait it first calls C until the end of stdin.
package main

// #include <pthread.h>
// #include <unistd.h>
// static int twice(int n) { volatile int x = 0; for (int i = 0; i < 100000; i++) x += i; return 2 * n; }
// static long broken_pipe(void) { int ends[2]; return pipe(ends) || close(ends[0]) ? 0 : write(ends[1], "", 1); }
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

func main() {
	var all sync.WaitGroup
	sums := make([]int, 8)
	caught := make(chan os.Signal, 1)

	signal.Notify(caught, syscall.SIGTERM)
	for i := range sums {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			sums[i] = int(C.twice(C.int(i)))
		}(i)
	}
	all.Wait()
	fmt.Println(sums)
	fmt.Println(C.broken_pipe())
	syscall.Kill(os.Getpid(), syscall.SIGTERM)
	fmt.Println(<-caught)
	out, err := exec.Command("sh", "-c", "echo from sh").Output()
	fmt.Print(string(out), err, "\n")
	if len(os.Args) > 1 {
		go func() {
			for {
				C.twice(1)
			}
		}()
		os.Stdin.Read(make([]byte, 1))
	}
	defer func() { fmt.Println("recovered:", recover() != nil) }()
	var nowhere *int
	*nowhere = 1
}
