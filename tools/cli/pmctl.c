/* SPDX-License-Identifier: MIT */
/* pmctl.c - main(), apart from the rest, which unit tests link. */
#include "tools/cli/pmctl.h"

int main(int argc, char **argv)
{
	return tool_main(argc, argv);
}
