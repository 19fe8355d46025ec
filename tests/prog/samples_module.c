/* SPDX-License-Identifier: MIT */
/* samples_module: a module for `samples module`, with a function that calls back. */
/* prog-flags: -shared -fPIC */
void in_module(void (*work)(void));

static volatile unsigned long calls;

void in_module(void (*work)(void))
{
	work();
	calls++;
}
