# SPDX-License-Identifier: MIT
# terminal.py RAW CMD... - runs CMD with a terminal of its own as standard error, stores what it writes there in
# RAW, and prints what the terminal shows in the end; exits as CMD does.
import fcntl, os, pty, subprocess, sys, termios

master, slave = pty.openpty()


def take_terminal():
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


job = subprocess.Popen(sys.argv[2:], stderr=slave, preexec_fn=take_terminal)
os.close(slave)
raw = b""
try:
    while part := os.read(master, 4096):
        raw += part
except OSError:
    pass  # the end, of a terminal
status = job.wait()
with open(sys.argv[1], "wb") as file:
    file.write(raw)
lines, column = [""], 0
for part in raw.decode().replace("\033[K", "\0"):
    if part == "\r":
        column = 0
    elif part == "\n":
        lines.append("")
    elif part == "\0":
        lines[-1] = lines[-1][:column]
    else:
        lines[-1] = lines[-1][:column] + part + lines[-1][column + 1 :]
        column += 1
print("\n".join(line for line in lines if line))
sys.exit(status if status >= 0 else 128 - status)
