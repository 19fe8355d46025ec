#!/bin/bash
# SPDX-License-Identifier: MIT
# firefox.t - headless Firefox, in its sandbox, draws a page, and runs its scripts.
. "$(dirname "$0")/lib.sh"
full || skip_all "runs with HOSTS=full"

user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
cat >"$T/page.html" <<'END_PAGE'
<!doctype html><canvas id=c width=300 height=100></canvas>
<script>
const g = c.getContext("2d");
g.fillStyle = "#08f";
g.fillRect(10, 10, 200, 60);
const code = "let s = 0; for (let i = 0; i < 1e7; i++) s += i % 7; postMessage(s)";
if (location.search)
	new Worker(URL.createObjectURL(new Blob([code]))).onmessage = e => fetch("/sum?" + e.data);
</script>
END_PAGE

browser() {
	rm -rf home
	mkdir -m 777 home
	host "${user[@]}" env HOME="$PWD/home" timeout -k 5 120 firefox-esr --headless --no-remote \
		--profile "$PWD/home" --window-size=400,300 "$@" 2> >(tee -a errors >&2)
}
draw() {
	browser --screenshot "$PWD/home/page.png" "file://$T/page.html" && mv home/page.png .
}
# The page tells its own server the result, then SIGTERM ends the browser.
worker_ran() {
	local port server rc
	port=$(free_port)
	python3 -m http.server --bind 127.0.0.1 --directory "$T" "$port" >served 2>&1 &
	server=$!
	await eval 'exec 3<>/dev/tcp/127.0.0.1/$port' && exec 3>&-
	browser "http://127.0.0.1:$port/page.html?run" &
	await grep -q 'GET /sum?29999994 ' served
	rc=$?
	pkill -TERM -f "firefox-esr.*--profile $PWD/home"
	wait $!
	kill $server
	return $rc
}

browse() {
	chmod 777 .
	check "--screenshot ends with 0" draw
	[ "$variant" != bare ] || cp page.png "$T/bare.png"
	check "--screenshot has the same pixels" cmp "$T/bare.png" page.png
	check "the page's worker has its result" worker_ran
	check "no process reports a crash" eval '! grep -E "[Cc]rash|MOZ_|Assertion|Sandbox:|violation" errors'
}

compare firefox 4 browse
done_testing
