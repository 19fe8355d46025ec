// SPDX-License-Identifier: MIT
// golib: a C shared library; goroutines compute on small stacks that grow.
package main

import "C"

import "sync"

//go:noinline
func descend(depth, seed int) int {
	if depth == 0 {
		return seed
	}
	return descend(depth-1, seed*3+depth)%1000003 + 1
}

//export Work
func Work(rounds C.int) C.int {
	var all sync.WaitGroup
	sums := make([]int, 16)

	for i := range sums {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			for n := 0; n < int(rounds); n++ {
				sums[i] += descend(i*n%400, n) % 1000
			}
		}(i)
	}
	all.Wait()
	sum := 0
	for _, s := range sums {
		sum += s
	}
	return C.int(sum)
}

func main() {}
