// SPDX-License-Identifier: MIT
// goroutines: compute under a mutex and allocate, so that stacks of goroutines and of the run time are sampled.
package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

var (
	mutex sync.Mutex
	words = map[string]int{}
)

func tokenize(text string, times int) {
	for i := 0; i < times; i++ {
		for _, word := range strings.Fields(text) {
			mutex.Lock()
			words[word]++
			mutex.Unlock()
		}
	}
}

func main() {
	var all sync.WaitGroup

	for i := 0; i < 6; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			tokenize(fmt.Sprintf("a b c d e f %d lorem ipsum dolor", i), 60000)
			time.Sleep(20 * time.Millisecond)
		}(i)
	}
	all.Wait()
	fmt.Println(len(words))
}
