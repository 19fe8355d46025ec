// SPDX-License-Identifier: MIT
// goroutines: compute under a mutex, allocate, and run assembly code that uses the frame pointer's register (MD5), so that
// stacks of goroutines and of the run time are sampled.
package main

import (
	"crypto/md5"
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

func digest(times int) (sum [16]byte) {
	data := make([]byte, 1<<20)
	for i := 0; i < times; i++ {
		sum = md5.Sum(data)
	}
	return
}

func main() {
	var all sync.WaitGroup

	for i := 0; i < 6; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			digest(10)
			tokenize(fmt.Sprintf("a b c d e f %d lorem ipsum dolor", i), 60000)
			time.Sleep(20 * time.Millisecond)
		}(i)
	}
	all.Wait()
	fmt.Println(len(words))
}
