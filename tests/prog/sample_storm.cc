// SPDX-License-Identifier: MIT
// sample_storm SECONDS MODULE: threads that dlopen, throw, fork, create threads, allocate and send
// signals, all at once, each checking its results. Prints "storm: 0 errors".
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static std::atomic<bool> stop;
static std::atomic<unsigned long> errors, rounds[6], handled;
static const char *module_path;

#define check(good)                                                                                \
	do {                                                                                       \
		if (!(good)) {                                                                     \
			fprintf(stderr, "line %d: %s: %m\n", __LINE__, #good);                     \
			errors++;                                                                  \
		}                                                                                  \
	} while (0)

__attribute__((noinline)) static unsigned descend(unsigned n)
{
	std::string held(n + 1, 'x');

	if (!n)
		throw std::runtime_error("bottom");
	return descend(n - 1) + static_cast<unsigned>(held.size());
}

static bool throw_once(unsigned depth)
{
	try {
		descend(depth);
	} catch (const std::runtime_error &error) {
		return !strcmp(error.what(), "bottom");
	}
	return false;
}

static bool allocate(unsigned seed)
{
	std::vector<char *> blocks;
	bool good = true;

	for (unsigned i = 0; i < 50; i++) {
		size_t bytes = 1 + (seed = seed * 1103515245 + 12345) / 65536 % 5000;
		char *block = static_cast<char *>(malloc(bytes));

		memset(block, static_cast<int>(bytes & 127), bytes);
		blocks.push_back(static_cast<char *>(realloc(block, bytes * 2)));
		good &= blocks.back()[bytes - 1] == static_cast<char>(bytes & 127);
	}
	for (char *block : blocks)
		free(block);
	return good;
}

static void *loader(void *)
{
	for (; !stop; rounds[0]++) {
		void *handle = dlopen(module_path, RTLD_NOW);
		auto call = reinterpret_cast<void (*)(void (*)())>(
			handle ? dlsym(handle, "in_module") : nullptr);

		check(call);
		if (call)
			call([] { allocate(7); });
		if (handle)
			dlclose(handle);
	}
	return nullptr;
}

static void *thrower(void *)
{
	for (unsigned i = 0; !stop; rounds[1]++)
		check(throw_once(i++ % 30));
	return nullptr;
}

static void *allocator(void *)
{
	for (unsigned i = 0; !stop; rounds[2]++)
		check(allocate(i++));
	return nullptr;
}

static void *forker(void *)
{
	for (; !stop; rounds[3]++) {
		int status = -1;
		pid_t child = fork();

		if (child == 0) {
			bool good = true;

			for (unsigned i = 0; i < 40; i++)
				good &= throw_once(i % 20) && allocate(i);
			_exit(good ? 7 : 8);
		}
		check(child > 0);
		if (child > 0)
			check(waitpid(child, &status, 0) == child);
		if (status != 7 << 8)
			fprintf(stderr, "status %#x\n", static_cast<unsigned>(status));
		check(status == 7 << 8);
	}
	return nullptr;
}

static void *short_lived(void *)
{
	check(throw_once(10) && allocate(3));
	return nullptr;
}

static void *creator(void *)
{
	for (; !stop; rounds[4]++) {
		pthread_t threads[4];
		unsigned n = 0;

		while (n < 4 && !pthread_create(&threads[n], nullptr, short_lived, nullptr))
			n++;
		check(n == 4);
		while (n)
			pthread_join(threads[--n], nullptr);
	}
	return nullptr;
}

static pthread_t targets[8];
static unsigned n_targets;

static void *sender(void *)
{
	const struct timespec pause = { 0, 200000 };

	for (unsigned i = 0; !stop; rounds[5]++) {
		pthread_kill(targets[i++ % n_targets], SIGUSR1);
		nanosleep(&pause, nullptr);
	}
	return nullptr;
}

static void on_signal(int)
{
	handled++;
}

int main(int argc, char **argv)
{
	static void *(*const work[])(void *) = { loader,    loader, thrower, thrower,
						 allocator, forker, creator };
	struct sigaction action = {};
	pthread_t last;

	if (argc < 3)
		return 2;
	module_path = argv[2];
	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &action, nullptr);
	for (auto *start : work)
		check(!pthread_create(&targets[n_targets++], nullptr, start, nullptr));
	check(!pthread_create(&last, nullptr, sender, nullptr));
	sleep(static_cast<unsigned>(atoi(argv[1])));
	stop = true;
	pthread_join(last, nullptr);
	for (unsigned i = 0; i < n_targets; i++)
		pthread_join(targets[i], nullptr);
	for (auto &count : rounds)
		check(count);
	check(handled);
	printf("storm: %lu errors\n", errors.load());
	return errors != 0;
}
