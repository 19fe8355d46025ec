/* SPDX-License-Identifier: MIT */
/* pmctl.c - main(): everything else is in files that unit tests can link. */
#include "tools/cli/pmctl.h"

int main(int argc, char **argv)
{
	return tool_main(argc, argv);
}
