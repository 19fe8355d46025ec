/* SPDX-License-Identifier: MIT */
/*
 * own_libc.c - the libc functions that the agent calls and sanitizers intercept, hidden.
 *
 * The linker binds the agent's calls to these. Through a sanitizer's version, a call before the
 * sanitizer is initialised would crash (the agent's constructor runs first), and its reads and
 * writes of the agent's memory would look like races, since the sanitizer does not see the atomic
 * operations that order them. tests/layers.t compares the remaining calls with what sanitizers
 * intercept. Compiled without LTO and builtins: the compiler would turn these loops into calls of
 * themselves. Async-signal-safe.
 */
#include "agent/base/agent.h"
#include "agent/base/real.h"

#include <dlfcn.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

typedef uint64_t __attribute__((aligned(1), may_alias)) word;

/* ---- memory --------------------------------------------------------------------------------*/

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	for (; n >= sizeof(word); n -= sizeof(word), t += sizeof(word), f += sizeof(word))
		*(word *)t = *(const word *)f;
	while (n-- > 0)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	if ((uintptr_t)to - (uintptr_t)from >= n)
		return memcpy(to, from, n);
	while (n-- > 0)
		t[n] = f[n];
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	const word bytes = (uint8_t)byte * UINT64_C(0x0101010101010101);
	unsigned char *t = to;

	for (; n >= sizeof(word); n -= sizeof(word), t += sizeof(word))
		*(word *)t = bytes;
	while (n-- > 0)
		*t++ = (unsigned char)byte;
	return to;
}

int memcmp(const void *left, const void *right, size_t n)
{
	const unsigned char *l = left, *r = right;

	for (; n >= sizeof(word) && *(const word *)l == *(const word *)r; n -= sizeof(word)) {
		l += sizeof(word);
		r += sizeof(word);
	}
	for (; n > 0; n--, l++, r++)
		if (*l != *r)
			return *l - *r;
	return 0;
}

void *memchr(const void *bytes, int byte, size_t n)
{
	const unsigned char *b = bytes;

	for (; n > 0; n--, b++)
		if (*b == (unsigned char)byte)
			return (void *)(uintptr_t)b;
	return NULL;
}

/* ---- strings -------------------------------------------------------------------------------*/

size_t strnlen(const char *text, size_t most)
{
	size_t n = 0;

	while (n < most && text[n])
		n++;
	return n;
}

size_t strlen(const char *text)
{
	return strnlen(text, SIZE_MAX);
}

int strncmp(const char *left, const char *right, size_t n)
{
	for (; n > 0; n--, left++, right++)
		if (*left != *right || !*left)
			return (unsigned char)*left - (unsigned char)*right;
	return 0;
}

int strcmp(const char *left, const char *right)
{
	return strncmp(left, right, SIZE_MAX);
}

int strncasecmp(const char *left, const char *right, size_t n)
{
	for (; n > 0; n--, left++, right++)
		if (pmc_lower(*left) != pmc_lower(*right) || !*left)
			return (unsigned char)pmc_lower(*left) - (unsigned char)pmc_lower(*right);
	return 0;
}

char *strchr(const char *text, int c)
{
	return memchr(text, c, strlen(text) + 1);
}

char *strrchr(const char *text, int c)
{
	for (size_t n = strlen(text) + 1; n > 0; n--)
		if (text[n - 1] == (char)c)
			return (char *)(uintptr_t)(text + n - 1);
	return NULL;
}

size_t strcspn(const char *text, const char *reject)
{
	size_t n = 0;

	while (text[n] && !strchr(reject, text[n]))
		n++;
	return n;
}

size_t strspn(const char *text, const char *accept)
{
	size_t n = 0;

	while (text[n] && strchr(accept, text[n]))
		n++;
	return n;
}

char *strstr(const char *text, const char *part)
{
	const size_t n = strlen(part);

	for (; strncmp(text, part, n) != 0; text++)
		if (!*text)
			return NULL;
	return (char *)(uintptr_t)text;
}

/* ---- system calls --------------------------------------------------------------------------*/

static long result(long value)
{
	if (value < 0 && value >= -4095) {
		errno = (int)-value;
		return -1;
	}
	return value;
}

/* The vDSO's (real.c); the agent's first calls are made before it is looked up. */
int clock_gettime(clockid_t id, struct timespec *now)
{
	int (*const clock)(clockid_t, struct timespec *) = real_clock_gettime;

	return clock ? clock(id, now) : (int)result(pmc_sys2(SYS_clock_gettime, id, now));
}

/* The sixth argument, which pmc_sysN does not have, is the offset of a file, 0 for memory. */
void *mmap(void *at, size_t bytes, int access, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, bytes, access, flags, fd, offset);
}

/* dlopen of libpfm4 would call functions of a ThreadSanitizer that is not initialised yet: libpfm4
 * is treated as missing. */
void *dlopen(const char *path, int flags)
{
	void *(*real)(const char *, int);

	if (dlsym(RTLD_DEFAULT, "__tsan_init"))
		return NULL;
	*(void **)(void *)&real = dlsym(RTLD_NEXT, "dlopen");
	return real(path, flags);
}

int munmap(void *at, size_t bytes)
{
	return (int)result(pmc_sys2(SYS_munmap, at, bytes));
}

char *getcwd(char *text, size_t bytes)
{
	return result(pmc_sys2(SYS_getcwd, text, bytes)) > 0 && *text == '/' ? text : NULL;
}

int uname(struct utsname *host)
{
	return (int)result(pmc_sys1(SYS_uname, host));
}

/* ---- signals -------------------------------------------------------------------------------*/

#if defined(__x86_64__)
/* As in libc: debuggers and unwinders know a signal frame by these bytes, without unwind data. */
__asm__(".text\n"
	"	nop\n"
	".globl agent_restore\n"
	".hidden agent_restore\n"
	".type agent_restore, @function\n"
	"agent_restore:\n"
	"	mov $15, %rax\n"
	"	syscall\n"
	".size agent_restore, . - agent_restore\n");
void agent_restore(void);
#endif

int agent_sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	struct agent_kernel_action new, was;
	long error;

	if (action) {
		new.handler = action->sa_handler;
		new.flags = (unsigned)action->sa_flags;
		memcpy(&new.mask, &action->sa_mask, sizeof(new.mask));
#if defined(__x86_64__)
		new.flags |= 0x04000000; /* SA_RESTORER */
		new.restorer = agent_restore;
#endif
	}
	error = result(pmc_sys4(SYS_rt_sigaction, signo, action ? &new : NULL, old ? &was : NULL,
				sizeof(new.mask)));
	if (error || !old)
		return (int)error;
	memset(old, 0, sizeof(*old));
	old->sa_handler = was.handler;
	old->sa_flags = (int)was.flags;
	memcpy(&old->sa_mask, &was.mask, sizeof(was.mask));
	return 0;
}

bool agent_sigdefault(int signo)
{
	/* Less stack than a struct sigaction. */
	static const struct agent_kernel_action dfl;

	return pmc_sys4(SYS_rt_sigaction, signo, &dfl, NULL, sizeof(dfl.mask)) == 0;
}

/* ---- functions of glibc only ---------------------------------------------------------------*/

#ifdef __GLIBC__
/* Undefined in another C library, whose loader ends the program if it cannot bind a symbol; weak
 * ones may be missing. The agent does nothing there: agent_libc_is_other. */
#pragma weak gnu_get_libc_version
#pragma weak __register_atfork
#pragma weak __cxa_at_quick_exit
extern int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void),
			     void *library);
extern int __cxa_at_quick_exit(void (*handler)(void *), void *library);

bool agent_libc_is_other(void)
{
	return !gnu_get_libc_version;
}

/* As in libc_nonshared.a, but for no library in particular: the agent is never unloaded. */
int pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
	return __register_atfork(before, parent, child, NULL);
}

int at_quick_exit(void (*handler)(void))
{
	return __cxa_at_quick_exit((void (*)(void *))handler, NULL);
}

#ifdef __aarch64__
/* Called by libgcc's atomic operations, at start. */
unsigned long __getauxval(unsigned long type);
unsigned long __getauxval(unsigned long type)
{
	return getauxval(type);
}
#endif
#else
bool agent_libc_is_other(void)
{
	return false;
}
#endif
