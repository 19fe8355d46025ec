#!/bin/bash
# SPDX-License-Identifier: MIT
# java.t - a JVM answers jcmd, prints its threads on SIGQUIT, runs its shutdown hooks on SIGTERM.
. "$(dirname "$0")/lib.sh"
trap 'kill $(cat "$T"/work/*.pid 2>/dev/null) 2>/dev/null; rm -rf "$T"' EXIT

cat >"$T/Host.java" <<'END'
import java.util.Collections;
import java.util.concurrent.*;

class Host {
	static Object nothing;

	static int deep(int n) {
		return n == 0 ? 0 : 1 + deep(n - 1) + deep(0);
	}

	public static void main(String[] args) throws Exception {
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook ran")));
		// The JVM turns SIGSEGV into this exception, and a guard page into StackOverflowError.
		for (int i = 0; i < 20000; i++)
			try {
				nothing.hashCode();
			} catch (NullPointerException e) {
			}
		try {
			deep(Integer.MAX_VALUE);
		} catch (StackOverflowError e) {
			System.out.println("overflow caught");
		}
		Callable<Integer> work = () -> {
			byte[][] garbage = new byte[100][];
			for (int i = 0; i < 2000; i++)
				garbage[i % 100] = new byte[10000];
			return 1;
		};
		ExecutorService pool = Executors.newFixedThreadPool(4);
		int sum = 0;
		for (Future<Integer> f : pool.invokeAll(Collections.nCopies(200, work)))
			sum += f.get();
		pool.shutdown();
		System.out.println("sum " + sum);
		System.gc();
		System.out.println("child " + new ProcessBuilder("sh", "-c", "exit 3").start().waitFor());
		System.out.println("ready");
		Thread.sleep(600000);
	}
}
END
javac -d "$T" "$T/Host.java"

asked() {
	host jcmd "$pid" "$1" | tee -a /dev/stderr | grep -q "$2"
}

machine() {
	local pid status
	host sh -c 'echo $$ >java.pid; exec java "$@"' sh -cp "$T" "$@" Host >out 2>&1 &
	check "it gets ready" await grep -qx ready out
	pid=$(cat java.pid)
	for line in "overflow caught" "sum 200" "child 3"; do
		check "$line" grep -qx "$line" out
	done
	check "jcmd VM.version" asked VM.version 'JDK'
	check "jcmd Thread.print" asked Thread.print '"main"'
	check "jcmd GC.class_histogram" asked GC.class_histogram 'java.lang.String'
	kill -QUIT "$pid"
	check "SIGQUIT prints the threads" await grep -q 'Full thread dump' out
	kill -TERM "$pid"
	wait $!
	status=$?
	check "SIGTERM: status 143" test "$status" -eq 143
	check "SIGTERM: the shutdown hook" grep -qx 'hook ran' out
	cat out >&2
	check "no crash" eval '! ls hs_err_pid* && ! grep -i "warning" out'
}

compare java/g1 10 machine -XX:+UseG1GC
full && compare java/serial 10 machine -XX:+UseSerialGC -Xint
full && compare java/zgc 10 machine -XX:+UseZGC
done_testing
