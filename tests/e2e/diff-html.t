#!/bin/bash
# SPDX-License-Identifier: MIT
# diff-html.t - a page with the differences of two dumps, beside reports of each.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

for side in a b; do
	"$PMCTL" run --report off --sample task-clock@1000000 -e task-clock,page-faults -o $side.pmc -- \
		"$PROG/samples" "$([ $side = a ] && echo leaf || echo threads)" 100
	"$PMCTL" report --by function --format json $side.pmc >$side.json
done
page_data() {
	sed -n '/^<script type="application\/json"/,/^<\/script>/p' "$1" | sed '1d;$d'
}

# shown PAGE WIDTHS: what the page's own script makes of it, as JSON: the rows of the functions, and
# the boxes of the graph.
cat >shown.js <<'JS'
const fs = require('fs');
const [page, widths, view] = process.argv.slice(2);
const parts = fs.readFileSync(page, 'utf8').split(/<script[^>]*>\n/);
const values = { event: '0', root: 'all', search: '', filter: '', widths, view };
const text = { data: parts[1].split('\n</script>')[0] };
const elements = {};
const anything = target =>
	new Proxy(target, {
		get: (t, key) => (key in t ? t[key] : key === Symbol.toPrimitive ? () => '' : anything(() => anything({}))),
		set: (t, key, value) => ((t[key] = value), true),
	});
const element = id => anything({ value: values[id], textContent: text[id], clientWidth: 1000 });
globalThis.document = anything({
	getElementById: id => (elements[id] ||= element(id)),
	createElement: () => anything({ append() {}, style: anything({ setProperty() {} }) }),
});
globalThis.addEventListener = () => {};
const script = parts[2].split('\n</script>')[0];
eval(script + `;
	side = +widths;
	const boxes = [];
	const walk = at => { boxes.push([at.name, at.total, change(at, 'total')]); at.callees.forEach(walk); };
	walk(tree);
	const tops = [...tree.callees.values()].filter(at => at.total).map(at => [at.name, at.total]);
	let deepest = 0;
	const ends = at => { deepest += at.own; at.callees.forEach(ends); };
	ends(tree);
	console.log(JSON.stringify({ tops, deepest, rows: listFunctions().map(functionCells), boxes, most: largest }));`);
JS

run "$PMCTL" diff a.pmc b.pmc --html d.html
is "$status $(cat out err)" "0 " "a page"
page_data d.html >data.json
is "$(jq -c '[.before.files, .files]' data.json)" '[["a.pmc"],["b.pmc"]]' "the sides"
"$PMCTL" export --to html --before a.pmc b.pmc >e.html
same <(page_data e.html) data.json "export --before writes the same"
if command -v node >/dev/null; then
	run node shown.js d.html 0
	is "$status" 0 "its script runs"
	mv out shown.json
	# Self and total of each function, as shares of the side.
	for part in self:2:3 total:5:6; do
		IFS=: read -r what a b <<<"$part"
		for side in a b; do
			is "$(jq -c --argjson i "${!side}" '.rows | map([.[0], (.[$i][0] * 1e9 | round)] | select(.[1] > 0)) | sort' shown.json)" \
				"$(jq -c ".sampling.weight as \$all | .groups | map([.function, (.$what / \$all * 1e9 | round)] | select(.[1] > 0)) | sort" $side.json)" \
				"$what of each function in ${side^^}"
		done
	done
	is "$(jq -c '[.rows[] | (.[6][0] - .[5][0] | fabs) - .[7][0] | fabs < 1e-9] | all' shown.json)" true "changes are differences"
	is "$(jq -c '[.rows[] | select(.[1] == "new") | .[5][0] == 0] | [length > 0, all]' shown.json)" '[true,true]' "new functions"
	# All of A's are in B, too, if the main thread of B was sampled.
	is "$(jq -c '[.rows[] | select(.[1] == "gone") | .[6][0] == 0] | [length, all]' shown.json)" \
		"$(jq -nc --slurpfile a a.json --slurpfile b b.json '[([$a[0].groups[].function] - [$b[0].groups[].function] | length), true]')" \
		"and those that are gone"
	is "$(jq .boxes[0][1] shown.json)" "$(jq .sampling.weight b.json)" "widths are those of B"
	is "$(node shown.js d.html 1 | jq .boxes[0][1])" "$(jq .sampling.weight a.json)" "or of A"
	# Seen from the functions: each has what it took itself, with its callers below.
	node shown.js d.html 0 callers >callers.json
	is "$(jq -c '.tops | sort' callers.json)" \
		"$(jq -c '[.groups[] | select(.self > 0) | [.function, .self]] | sort' b.json)" "callers: the functions in B"
	is "$(jq -c '.deepest' callers.json)" "$(jq -c '.boxes[0][1]' shown.json)" "callers: their stacks have all of it"
	"$PMCTL" diff a.pmc b.pmc --per page-faults --html per.html
	node shown.js per.html 0 >per.json
	faults() { "$PMCTL" report --format json "$1" | jq '[.threads[].events[] | select(.name == "page-faults").value] | add'; }
	is "$(jq '[.rows[] | .[3][0]] | add | round' per.json)" \
		"$(jq -n "$(jq .sampling.weight b.json) / $(faults b.pmc) | round")" "--per: B's time for each page fault"
	is "$(jq '[.rows[] | .[2][0]] | add | round' per.json)" \
		"$(jq -n "$(jq .sampling.weight a.json) / $(faults a.pmc) | round")" "--per: A's"
else
	skip "no node, which runs scripts" "the page's script"
fi
"$PMCTL" diff a.pmc --vs b.pmc b.pmc a.pmc --html many.html
is "$(page_data many.html | jq -c '[.before.files, .files]')" '[["a.pmc"],["b.pmc","b.pmc","a.pmc"]]' "several dumps a side"
refuses 2 '--event, --symfs and --per' "--html with --by" diff a.pmc b.pmc --html x.html --by function
refuses 2 '--html FILE' "--per without --html" diff a.pmc b.pmc --per page-faults
refuses 1 'no counts of nothing' "--per an event that was not counted" diff a.pmc b.pmc --per nothing --html x.html
"$PMCTL" run --report off -o none.pmc -- true
refuses 1 'none.pmc has no samples' "A without samples" diff none.pmc b.pmc --html x.html
refuses 1 'no samples' "B without samples" diff a.pmc none.pmc --html x.html
refuses 2 '--to html' "--before with another format" export --to folded --before a.pmc b.pmc
done_testing
