// SPDX-License-Identifier: MIT
// Threads: four named Java threads, an exception that is caught, an exit status.
public class Threads {
	static long burn(long x) {
		for (int i = 0; i < 20_000_000; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}

	public static void main(String[] args) throws Exception {
		Thread[] threads = new Thread[4];
		long[] results = new long[4];
		for (int i = 0; i < 4; i++) {
			int n = i;
			threads[i] = new Thread(() -> results[n] = burn(n), "java-" + i);
			threads[i].start();
		}
		for (Thread t : threads)
			t.join();
		for (long r : results)
			System.out.println(Long.toHexString(r));
		try {
			Object o = args.length > 99 ? args : null;
			System.out.println(o.hashCode());
		} catch (NullPointerException e) {
			System.err.println("caught");
		}
		System.exit(4);
	}
}
