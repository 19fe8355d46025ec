# SPDX-License-Identifier: MIT
# keys.py SCREEN CMD... - types each line of standard input, in which \t is the TAB key, into CMD, a shell with a
# terminal, and prints what the shell makes of it. What it shows meanwhile is stored in SCREEN.1, SCREEN.2, ...
#
# The shell writes a newline to the descriptor $KEYS_FD when it is ready. At control-G it writes the line and a newline
# there, and empties the line.
import fcntl, os, pty, select, struct, subprocess, sys, termios

master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
result, write = os.pipe()


def take_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


job = subprocess.Popen(
    sys.argv[2:],
    stdin=slave,
    stdout=slave,
    stderr=slave,
    preexec_fn=take_terminal,
    pass_fds=[write],
    env={**os.environ, "KEYS_FD": str(write)},
)
os.close(slave)
os.close(write)


def type_keys(text):
    shown = made = b""
    os.write(master, text.encode())
    while not made.endswith(b"\n"):
        ready = select.select([master, result], [], [], 120)[0]
        if not ready:
            sys.exit(f"{sys.argv[2]} does not answer to {text!r}: {shown!r}")
        if master in ready:
            shown += os.read(master, 65536)
        if result in ready:
            part = os.read(result, 65536)
            if not part:
                sys.exit(f"{sys.argv[2]} has ended: {shown!r}")
            made += part
    return made.decode()[:-1], shown


type_keys("")
for number, line in enumerate(sys.stdin, 1):
    made, shown = type_keys(line.rstrip("\n").replace("\\t", "\t") + "\a")
    with open(f"{sys.argv[1]}.{number}", "wb") as file:
        file.write(shown)
    print(made + "|")
job.kill()
