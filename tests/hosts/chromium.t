#!/bin/bash
# SPDX-License-Identifier: MIT
# chromium.t - headless Chromium, with and without its sandbox, draws a page and runs its scripts.
. "$(dirname "$0")/lib.sh"

user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
cat >"$T/page.html" <<'END'
<!doctype html><canvas id=c width=300 height=100></canvas><p id=p>
<script>
const g = c.getContext("2d");
g.fillStyle = "#08f";
g.fillRect(10, 10, 200, 60);
const code = "let s = 0; for (let i = 0; i < 1e7; i++) s += i % 7; postMessage(s)";
new Worker(URL.createObjectURL(new Blob([code]))).onmessage = e => p.textContent = "sum " + e.data;
</script>
END

browser() {
	mkdir -p -m 777 home
	host "${user[@]}" env HOME="$PWD/home" timeout -k 5 120 chromium --headless "${flags[@]}" \
		--user-data-dir="$PWD/home" --window-size=400,300 --virtual-time-budget=5000 "$@" \
		"file://$T/page.html" 2> >(tee -a errors >&2)
}
worker_ran() {
	browser --dump-dom | grep 'sum 29999994'
}

browse() {
	local flags=("$@")
	check "--screenshot ends with 0" browser --screenshot="$PWD/page.png"
	[ "$variant" != bare ] || cp page.png "$T/bare.png"
	check "--screenshot has the same pixels" cmp "$T/bare.png" page.png
	check "--dump-dom has the worker's result" worker_ran
	check "--print-to-pdf ends with 0" browser --print-to-pdf="$PWD/page.pdf"
	check "no process reports a crash" eval '! grep -E "FATAL|Check failed|rashed|rashpad|terminated|Received signal" errors'
}

compare chromium 5 browse
full && compare chromium/no-sandbox 5 browse --no-sandbox
done_testing
