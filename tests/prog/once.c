/* SPDX-License-Identifier: MIT */
/*
 * once HOW: handlers that run once. raise: a handler installed with SA_RESETHAND raises its signal
 * again. second: it returns, and a second signal is sent. sysv: the same through sysv_signal.
 * again: a handler that installs itself again, twice. siginfo: no handler, but the default action
 * is set with SA_SIGINFO. ignored: SIGTERM was ignored at the start, then its default action is
 * set. Each prints what sigaction tells, and dies of SIGTERM.
 */
#include "burn.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool raises, reinstalls;
static volatile sig_atomic_t handled;

static void set(void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGTERM, &action, NULL);
}

static void on_term(int signo)
{
	handled++;
	if (reinstalls && handled < 3)
		set(on_term, SA_RESETHAND);
	if (raises)
		raise(signo);
}

static void tell(void)
{
	struct sigaction now;

	sigaction(SIGTERM, NULL, &now);
	printf("%s%s%s%s\n",
	       now.sa_handler == SIG_DFL ? "default" :
	       now.sa_handler == SIG_IGN ? "ignored" :
	       now.sa_handler == on_term ? "handler" :
					   "other",
	       now.sa_flags & (int)SA_RESETHAND ? " once" : "",
	       now.sa_flags & SA_SIGINFO ? " siginfo" : "",
	       sigismember(&now.sa_mask, SIGUSR1) ? " usr1" : "");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	burn_thread_ms(20);
	if (!strcmp(how, "siginfo")) {
		set(SIG_DFL, SA_SIGINFO);
	} else if (!strcmp(how, "ignored")) {
		tell();
		signal(SIGTERM, SIG_DFL);
	} else if (!strcmp(how, "abort")) {
		signal(SIGABRT, on_term);
		abort();
	} else if (!strcmp(how, "sysv")) {
		sysv_signal(SIGTERM, on_term);
	} else {
		raises = !strcmp(how, "raise");
		reinstalls = !strcmp(how, "again");
		set(on_term, SA_RESETHAND);
	}
	tell();
	for (int i = 0; i < 5; i++) {
		kill(getpid(), SIGTERM);
		tell();
	}
	return 1;
}
