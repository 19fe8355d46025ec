/* SPDX-License-Identifier: MIT */
/* flame.js - the flame graphs of a page, and the functions in them; behind page.js. */
'use strict';

/* ---- the tree -------------------------------------------------------------------------------- */

/* `calls` has callers above their callees; `tree` is what is drawn. */
let flame, calls, tree, zoomed, largest, matches, isExpression;

/* Of two dumps B is first, the other A; `side` is the one that is shown. */
let side = 0;

class Call {
	constructor(id, name, module, parent) {
		Object.assign(this, { id, name, module, parent, callees: new Map() });
		this.sides = [
			{ own: 0, total: 0, samples: 0 },
			{ own: 0, total: 0, samples: 0 },
		];
	}
	get own() {
		return this.sides[side].own;
	}
	get total() {
		return this.sides[side].total;
	}
	get samples() {
		return this.sides[side].samples;
	}
}

/* Functions of two dumps are the same by their names and those of their modules. */
const keyOf = (from, id) =>
	data.before ? from.functions[id] + '\0' + from.modules[id].replace(/.*\//, '') : id;

function addBoxes(all, from, roots, accepts, to) {
	const above = [];
	let on = false;

	for (let i = 0; i < from.boxes.length; i += 5) {
		const [depth, id, own, total, samples] = from.boxes.slice(i, i + 5);
		if (depth === 0) on = accepts(roots[id], id);
		if (!on) continue;
		let at = all;
		if (depth) {
			const parent = above[depth - 1],
				key = keyOf(from, id);
			at = parent.callees.get(key);
			if (!at) {
				at = new Call(key, from.functions[id], from.modules[id], parent);
				parent.callees.set(key, at);
			}
		}
		at.sides[to].own += own;
		at.sides[to].total += total;
		at.sides[to].samples += samples;
		above[depth] = at;
	}
}

const flameBefore = () =>
	data.before &&
	data.before.flames.find(
		other => other.event === flame.event && other.core_type === flame.core_type,
	);

/* Of the roots that `accepts` names; the trees of several become one. */
function makeTree(accepts) {
	const all = new Call(-1, 'all', '', null),
		before = flameBefore();

	addBoxes(all, flame, data.roots, accepts, 0);
	if (before) addBoxes(all, before, data.before.roots, accepts, 1);
	return all;
}

/* Each function with what it did itself, and below it its callers, with their parts of that. */
function invert(whole) {
	const all = new Call(-1, 'all', '', null);
	const add = (at, from) => {
		for (const i of [0, 1]) {
			at.sides[i].total += from[i].own;
			/* Samples of a call itself: those that are in none of its callees. */
			at.sides[i].samples += from[i].alone;
		}
	};
	const visit = from => {
		const own = from.sides.map((sums, i) => ({
			own: sums.own,
			alone: [...from.callees.values()].reduce(
				(left, callee) => left - callee.sides[i].samples,
				sums.samples,
			),
		}));
		let at = all;
		if (own[0].own || own[1].own) {
			add(all, own);
			for (let call = from; call.id !== -1; call = call.parent) {
				let below = at.callees.get(call.id);
				if (!below) {
					below = new Call(call.id, call.name, call.module, at);
					at.callees.set(call.id, below);
				}
				at = below;
				add(at, own);
			}
			for (const i of [0, 1]) at.sides[i].own += own[i].own;
		}
		from.callees.forEach(visit);
	};
	visit(whole);
	return all;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* What a weight of a side is compared as: its share, or for each count of --per. */
function norm(n, of) {
	const whole = data.per ? (of ? data.per_before : data.per_after) : tree.sides[of].total;
	return whole ? n / whole : 0;
}

const normText = x =>
	data.per ? (flame.time ? time(x) : Number(x.toPrecision(4))) : (100 * x).toFixed(2) + ' %';

function change(at, what) {
	return norm(at.sides[0][what], 0) - norm(at.sides[1][what], 1);
}

function changeText(x) {
	const sign = x > 0 ? '+' : x < 0 ? '−' : '';
	return sign + normText(Math.abs(x)).toString().replace(' %', '');
}

const state = at => (!at.sides[1].total ? 'new' : !at.sides[0].total ? 'gone' : '');

/* The largest change of a box below the outermost one. */
function largestChange(at) {
	let most = at === tree && !data.per ? 0 : Math.abs(change(at, 'total'));
	for (const callee of at.callees.values()) most = Math.max(most, largestChange(callee));
	return most;
}

function describeChange(at) {
	const self = text => (tree === calls ? ', self ' + text : '');
	const of = (name, i) =>
		name +
		' ' +
		weight(at.sides[i].total) +
		', ' +
		normText(norm(at.sides[i].total, i)) +
		self(normText(norm(at.sides[i].own, i)));
	return [
		clean(at.name) + (state(at) && at !== tree ? ' (' + state(at) + ' in B)' : ''),
		...(at.module ? [clean(at.module)] : []),
		of('A', 1),
		of('B', 0),
		'change ' +
			changeText(change(at, 'total')) +
			self(changeText(change(at, 'own'))) +
			(data.per ? ' per ' + clean(data.per) : ' percentage points'),
	];
}

const weight = n => (flame.time ? time(n) : integer(n));
const unit = () => (flame.waits ? ' waits' : ' samples');

function describe(at) {
	if (data.before) return describeChange(at);
	const lines = [clean(at.name)];
	if (at.module) lines.push(clean(at.module));
	lines.push(
		integer(at.samples) +
			unit() +
			', ' +
			weight(at.total) +
			(flame.time ? '' : ' ' + clean(flame.event)) +
			', ' +
			percent(at.total, tree.total) +
			(zoomed === tree
				? ''
				: ', ' + percent(at.total, zoomed.total) + ' of the zoomed box'),
	);
	if (tree === calls)
		lines.push('self ' + weight(at.own) + ', ' + percent(at.own, tree.total));
	return lines;
}

/* ---- the graph ------------------------------------------------------------------------------- */

const boxHeight = 18;

/* A colour for each kind of code, as in the page's legend, a little other for each function. */
function hue(at) {
	const kind =
		at.module === '[kernel]'
			? 28
			: at.module === ''
				? 285
				: /\.so(\.|$)|^\[vdso\]/.test(at.module)
					? 55
					: 130;
	let hash = 0;
	for (const c of at.name) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
	return kind - 9 + (hash % 19);
}

function addBox(graph, at, left, width, depth, pixels) {
	const box = make('div', width * pixels > 24 ? at.name : null, 'box');
	box.node = at;
	at.box = box;
	box.depth = depth;
	/* One stop of the Tab key: arrows go on from there. */
	box.tabIndex = at === zoomed ? 0 : -1;
	box.style.left = 100 * left + '%';
	box.style.width = 100 * width + '%';
	box.style.setProperty('--hue', data.before ? (change(at, 'total') > 0 ? 4 : 215) : hue(at));
	if (at.id === -1) box.style.setProperty('--sat', '0%');
	else if (data.before)
		box.style.setProperty(
			'--sat',
			90 * Math.sqrt(Math.min(1, Math.abs(change(at, 'total')) / largest)) + '%',
		);
	box.classList.toggle('thin', width * pixels < 4);
	box.classList.toggle('above', at !== zoomed && isAbove(at));
	box.classList.toggle('match', matches(at));
	box.ariaLabel = describe(at).join(', ');
	graph.append(box);
}

function isAbove(at) {
	for (let above = zoomed.parent; above; above = above.parent) if (above === at) return true;
	return false;
}

function drawBelow(graph, at, left, width, depth, pixels) {
	let deepest = depth;

	addBox(graph, at, left, width, depth, pixels);
	for (const callee of [...at.callees.values()].sort((a, b) => b.total - a.total)) {
		const share = at.total ? (width * callee.total) / at.total : 0;
		if (share * pixels >= 0.5)
			deepest = Math.max(
				deepest,
				drawBelow(graph, callee, left, share, depth + 1, pixels),
			);
		left += share;
	}
	return deepest;
}

/* Callers of the zoomed box are above it, as wide as the graph. */
function draw() {
	const graph = document.createDocumentFragment(),
		above = [],
		pixels = $('graph').clientWidth || 1000;

	for (let at = zoomed.parent; at; at = at.parent) above.unshift(at);
	above.forEach((at, depth) => addBox(graph, at, 0, 1, depth, pixels));
	const deepest = drawBelow(graph, zoomed, 0, 1, above.length, pixels),
		upwards = $('view').value === 'flame';
	for (const box of graph.children)
		box.style.top = (upwards ? deepest - box.depth : box.depth) * boxHeight + 'px';
	$('graph').replaceChildren(graph);
	$('graph').style.height = (deepest + 1) * boxHeight + 2 + 'px';
	if (upwards) $('frame').scrollTop = $('frame').scrollHeight;
	$('reset').disabled = zoomed === tree;
	$('share').textContent = $('search').value
		? (isExpression ? '' : 'not a valid regular expression: taken as plain text; ') +
			'matches: ' +
			percent(matched(zoomed), zoomed.total)
		: '';
	$('details').textContent = describe(zoomed).join(' · ');
}

function zoom(at) {
	zoomed = at;
	draw();
	showLines(at);
}

/* ---- search and functions -------------------------------------------------------------------- */

function readSearch() {
	const text = $('search').value;
	let pattern;

	isExpression = true;
	try {
		pattern = new RegExp(text, 'i');
	} catch {
		isExpression = false;
		pattern = { test: name => name.toLowerCase().includes(text.toLowerCase()) };
	}
	matches = at => text !== '' && at.id !== -1 && pattern.test(at.name);
}

/* A match below another one is in its share. */
function matched(at) {
	if (matches(at)) return at.total;
	let sum = 0;
	for (const callee of at.callees.values()) sum += matched(callee);
	return sum;
}

/* Of each function its own weight and, once in a recursion, all of it. */
function listFunctions() {
	const known = new Map(),
		active = new Set();
	const visit = at => {
		if (at.id !== -1) {
			let sum = known.get(at.id);
			if (!sum) known.set(at.id, (sum = new Call(at.id, at.name, at.module)));
			for (const i of [0, 1]) sum.sides[i].own += at.sides[i].own;
		}
		const first = !active.has(at.id);
		if (first && at.id !== -1)
			for (const i of [0, 1])
				known.get(at.id).sides[i].total += at.sides[i].total;
		active.add(at.id);
		for (const callee of at.callees.values()) visit(callee);
		if (first) active.delete(at.id);
	};
	visit(calls);
	return [...known.values()];
}

const functionHeads = data.before
	? ['function', '', 'self A', 'self B', 'change', 'total A', 'total B', 'change', 'module']
	: ['function', 'self', '%', 'total', '%', 'module'];

/* Changes are sorted by their size. */
function functionCells(at) {
	const of = (what, i) => {
		const x = norm(at.sides[i][what], i);
		return [x, normText(x)];
	};
	const changed = what => [Math.abs(change(at, what)), changeText(change(at, what))];

	if (data.before)
		return [
			at.name,
			state(at),
			of('own', 1),
			of('own', 0),
			changed('own'),
			of('total', 1),
			of('total', 0),
			changed('total'),
			at.module,
		];
	return [
		at.name,
		[at.own, weight(at.own)],
		[at.own, percent(at.own, tree.total)],
		[at.total, weight(at.total)],
		[at.total, percent(at.total, tree.total)],
		at.module,
	];
}

const functionSort = { column: data.before ? 7 : 1, reverse: false },
	functionsMost = 100;

function showFunctions() {
	const columns = functionHeads.map((head, index) => ({
		head,
		index,
		text: ['function', '', 'module'].includes(head),
		path: head === 'module',
	}));
	const rows = listFunctions()
		.map(at => Object.assign(functionCells(at), { at }))
		.filter(
		row => !$('search').value || matches({ id: 0, name: row[0] }),
	);

	sortRows(rows, functionSort.column, functionSort.reverse);
	$('functions').tHead.replaceChildren(makeHead(columns, functionSort, showFunctions));
	$('functions').tBodies[0].replaceChildren(
		...rows.slice(0, functionsMost).map(row => {
			const tr = makeRow(row, columns);
			if (row.at && linesOf(row.at).length) {
				tr.cells[0].replaceChildren(button(row[0], () => showLines(row.at)));
				tr.cells[0].title += ': its source lines';
			}
			return tr;
		}),
	);
}

/* ---- source lines of a function, of all threads ------------------------------------------------ */

function linesOf(at) {
	const lines = [];

	for (let i = 0; !data.before && i < flame.lines.length; i += 4)
		if (flame.lines[i] === at.id) lines.push(flame.lines.slice(i + 1, i + 4));
	return lines;
}

const lineSort = { column: 1, reverse: false };

function showLines(at) {
	const rows = linesOf(at).map(([file, line, own]) => [
			[line, file.replace(/.*\//, '') + ':' + line],
			[own, weight(own)],
			[own, percent(own, flame.weight)],
		]),
		columns = ['line', 'self', '%'].map((head, index) => ({
			head,
			index,
			text: !index,
		})),
		box = $('lines');

	box.hidden = !rows.length;
	if (!rows.length) return;
	sortRows(rows, lineSort.column, lineSort.reverse);
	box.firstElementChild.textContent =
		'Lines of ' + clean(at.name) + (flame.weight === tree.total ? '' : ', of all threads');
	const table = box.querySelector('table');
	table.tHead.replaceChildren(makeHead(columns, lineSort, () => showLines(at)));
	table.tBodies[0].replaceChildren(...rows.map(row => makeRow(row, columns)));
}

/* ---- choices --------------------------------------------------------------------------------- */

/* How long the waits of these roots were, a bar for each power of 2. */
function showLengths(accepts) {
	const counts = new Map();
	for (const [id, list] of (flame.lengths ?? []).entries())
		for (let i = 0; accepts(data.roots[id], id) && i < list.length; i += 2)
			counts.set(list[i], (counts.get(list[i]) ?? 0) + list[i + 1]);
	const all = [...counts].sort((a, b) => a[0] - b[0]);
	const sum = all.reduce((n, [, count]) => n + count, 0);
	const most = Math.max(...counts.values());
	$('lengths').hidden = !sum || !!data.before;
	$('lengths').lastElementChild.replaceChildren(
		...all.flatMap(([bound, count]) => {
			const bar = make('i');
			bar.style.width = (100 * count) / most + '%';
			return [
				make('span', time(bound)),
				bar,
				make('span', integer(count) + ', ' + percent(count, sum)),
			];
		}),
	);
}

/* Values of options are numbers: of a root, or as "p0" of a pool. */
function fillRoots() {
	const sums = new Map(),
		pools = new Map(),
		add = (map, key, n) => map.set(key, (map.get(key) || 0) + n);
	const option = (text, value, n) => {
		const element = make(
			'option',
			text + (n === undefined ? '' : ': ' + percent(n, flame.weight)),
		);
		element.value = value;
		return element;
	};
	const byWeight = map => [...map].sort((a, b) => b[1] - a[1]);

	for (let i = 0; i < flame.boxes.length; i += 5) {
		const root = flame.boxes[i] === 0 && data.roots[flame.boxes[i + 1]];
		if (!root) continue;
		add(sums, flame.boxes[i + 1], flame.boxes[i + 3]);
		if (root.thread !== null) add(pools, root.pool, flame.boxes[i + 3]);
	}
	const names = [...new Set(data.roots.map(root => root.pool))];
	$('root').replaceChildren(option('all', 'all'));
	for (const [label, list] of [
		[
			'pools',
			byWeight(pools).map(([pool, n]) =>
				option(pool, 'p' + names.indexOf(pool), n),
			),
		],
		[
			data.by_pool ? 'pools' : 'threads',
			/* Those of two runs are not the same. */
			byWeight(data.before && !data.by_pool ? new Map() : sums).map(([id, n]) => option(rootName(data.roots[id]), id, n)),
		],
	]) {
		const group = make('optgroup');
		group.label = label;
		group.append(...list);
		if (list.length) $('root').append(group);
	}
	return names;
}

function showFlame() {
	flame = data.flames[$('event').value];
	$('explained').textContent = clean(flame.explained);
	if (data.before && !flameBefore())
		$('explained').textContent += '; A has no samples by this event';
	for (const part of [$('frame'), $('details'), $('functions').parentElement])
		part.hidden = !flame.weight;
	const names = fillRoots();
	$('root').onchange = () => {
		const value = $('root').value;
		const accepts = (root, id) =>
			value === 'all' ||
			(value[0] === 'p'
				? names[value.slice(1)] === root.pool
				: data.before
					? data.roots[+value].pool === root.pool
					: +value === id);
		calls = makeTree(accepts);
		showLengths(accepts);
		tree = $('view').value === 'callers' ? invert(calls) : calls;
		zoomed = tree;
		largest = data.before ? largestChange(tree) || 1 : 1;
		$('lines').hidden = true;
		draw();
		showFunctions();
	};
	$('root').onchange();
}

function flames() {
	if (!data.flames.length) {
		$('flames').replaceChildren(
			make('h2', 'Flame graph'),
			make('p', 'The dump has no samples; pmctl run --sample takes some.'),
		);
		return;
	}
	/* Waits are not of CPU time. */
	data.flames.sort((a, b) => a.waits - b.waits || b.samples - a.samples);
	data.flames.forEach((entry, index) => {
		const option = make(
			'option',
			entry.event +
				(entry.core_type ? ' on ' + entry.core_type : '') +
				': ' +
				integer(entry.samples) +
				(entry.waits ? ' waits' : ' samples'),
		);
		option.value = index;
		$('event').append(option);
	});
	$('which').textContent = data.by_pool ? 'Pool' : 'Thread';
	$('event').onchange = showFlame;
	$('view').onchange = () => $('root').onchange();
	$('list').ontoggle = draw;
	$('kinds').hidden = !!data.before;
	$('both').classList.toggle('wide', !!data.before);
	if (data.before) {
		$('flames').querySelector('h2').textContent = 'Differences from A to B';
		$('legend').hidden = $('widths-label').hidden = false;
		$('sides').textContent = clean(
			'A: ' +
				data.before.files.join(', ') +
				'; B: ' +
				data.files.join(', ') +
				(data.per ? '; for each of ' + data.per : '; as shares'),
		);
		$('widths').onchange = () => {
			side = +$('widths').value;
			zoom(tree);
		};
	}
	$('search').oninput = () => {
		readSearch();
		draw();
		showFunctions();
	};
	$('reset').onclick = () => zoom(tree);
	readSearch();
	showFlame();

	const graph = $('graph'),
		tip = $('tip');
	graph.onclick = event => event.target.node && zoom(event.target.node);
	/* Arrows go to the caller, the largest callee, and the boxes beside. */
	const go = (at, key) => {
		const beside = [...graph.children].filter(box => box.depth === at.box.depth);
		const to = beside.indexOf(at.box) + (key === 'ArrowRight' ? 1 : -1);
		if (key === 'ArrowLeft' || key === 'ArrowRight') return beside[to];
		const down = key === ($('view').value === 'flame' ? 'ArrowUp' : 'ArrowDown');
		return down
			? [...at.callees.values()].sort((a, b) => b.total - a.total)[0]?.box
			: at.parent?.box;
	};
	graph.onkeydown = event => {
		const at = event.target.node;
		if (at && event.key === 'Enter') {
			zoom(at);
			at.box.focus();
		}
		if (!at || !event.key.startsWith('Arrow')) return;
		event.preventDefault();
		go(at, event.key)?.focus();
	};
	graph.addEventListener('focusin', event => {
		if (event.target.node)
			$('details').textContent = describe(event.target.node).join(' · ');
	});
	graph.onpointermove = event => {
		const at = event.target.node;
		tip.hidden = !at;
		if (!at) return;
		tip.textContent = describe(at).join('\n');
		placeTip(event);
	};
	graph.onpointerleave = () => {
		tip.hidden = true;
	};
	addEventListener('keydown', event => {
		const at = document.activeElement.node;
		if (event.key !== 'Escape') return;
		zoom(tree);
		at?.box.focus();
	});
	addEventListener('resize', draw);
}

flames();
