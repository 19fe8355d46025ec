/* SPDX-License-Identifier: MIT */
/* Crash: a write to address 8 in native code; the JVM writes its hs_err file and aborts. */
import java.lang.reflect.Field;

public class Crash {
	public static void main(String[] args) throws Exception {
		Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");

		field.setAccessible(true);
		/* The JVM's own use of SIGSEGV works on. */
		int n = 0;
		for (int i = 0; i < 1000; i++) {
			Object[] none = i % 2 == 0 ? null : args;
			try {
				n += none.length;
			} catch (NullPointerException e) {
				n++;
			}
		}
		System.out.println("null pointers: " + n);
		System.out.flush();
		((sun.misc.Unsafe) field.get(null)).putAddress(8, 1);
	}
}
