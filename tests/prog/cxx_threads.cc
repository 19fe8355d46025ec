/* SPDX-License-Identifier: MIT */
/* cxx_threads: threads of std::thread, one of which throws an exception and catches it. */
#include "burn.h"

#include <cstdio>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static void work(int i)
{
	pthread_setname_np(pthread_self(), ("cxx-" + std::to_string(i)).c_str());
	burn_thread_ms(15);
	try {
		if (i == 2)
			throw std::runtime_error("thrown");
	} catch (const std::exception &e) {
		std::printf("%s\n", e.what());
	}
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back(work, i);
	for (auto &t : threads)
		t.join();
	std::puts("joined");
	return 5;
}
