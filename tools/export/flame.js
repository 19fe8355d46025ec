/* SPDX-License-Identifier: MIT */
/* flame.js - the flame graphs of a page, and the functions in them; behind page.js. */
'use strict';

/* ---- the tree -------------------------------------------------------------------------------- */

let flame, tree, zoomed, matches, isExpression;

/* The name of a root, and what tells it from others of that name. */
function rootName(root) {
	if (!root.pool) return '(unknown threads)';
	if (root.thread === null) return root.pool;
	return (
		root.thread +
		' (' +
		root.tid +
		(data.hosts.length > 1 ? ' on ' + root.host : '') +
		')'
	);
}

function node(id, parent) {
	return {
		id,
		parent,
		name: id < 0 ? 'all' : flame.functions[id],
		module: id < 0 ? '' : flame.modules[id],
		own: 0,
		total: 0,
		samples: 0,
		callees: new Map(),
	};
}

/* Of the roots that `accepts` names; the trees of several become one. */
function makeTree(accepts) {
	const all = node(-1, null),
		above = [];
	let on = false;

	for (let i = 0; i < flame.boxes.length; i += 5) {
		const [depth, id, own, total, samples] = flame.boxes.slice(i, i + 5);
		if (depth === 0) on = accepts(data.roots[id], id);
		if (!on) continue;
		const parent = above[depth - 1];
		let at = depth === 0 ? all : parent.callees.get(id);
		if (!at) parent.callees.set(id, (at = node(id, parent)));
		at.own += own;
		at.total += total;
		at.samples += samples;
		above[depth] = at;
	}
	return all;
}

const weight = n => (flame.time ? time(n) : integer(n));
const unit = () => (flame.waits ? ' waits' : ' samples');

function describe(at) {
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
	lines.push('self ' + weight(at.own) + ', ' + percent(at.own, tree.total));
	return lines;
}

/* ---- the graph ------------------------------------------------------------------------------- */

const boxHeight = 18;

/* Warm colours; of waits blue ones. The same function has the same. */
function hue(at) {
	let hash = 0;
	for (const c of at.name) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
	return (flame.waits ? 185 : 8) + (hash % 50);
}

function addBox(graph, at, left, width, depth, pixels) {
	const box = make('div', width * pixels > 24 ? at.name : null, 'box');
	box.node = at;
	box.tabIndex = 0;
	box.style.left = 100 * left + '%';
	box.style.width = 100 * width + '%';
	box.style.top = depth * boxHeight + 'px';
	box.style.setProperty('--hue', hue(at));
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
		const share = (width * callee.total) / at.total;
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
	const deepest = drawBelow(graph, zoomed, 0, 1, above.length, pixels);
	$('graph').replaceChildren(graph);
	$('graph').style.height = (deepest + 1) * boxHeight + 2 + 'px';
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
	matches = at => text !== '' && at.id >= 0 && pattern.test(at.name);
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
		if (at.id >= 0) {
			let sum = known.get(at.id);
			if (!sum) known.set(at.id, (sum = { at, own: 0, total: 0 }));
			sum.own += at.own;
		}
		const first = !active.has(at.id);
		if (first && at.id >= 0) known.get(at.id).total += at.total;
		active.add(at.id);
		for (const callee of at.callees.values()) visit(callee);
		if (first) active.delete(at.id);
	};
	visit(tree);
	return [...known.values()].map(({ at, own, total }) => [
		at.name,
		[own, weight(own)],
		[own, percent(own, tree.total)],
		[total, weight(total)],
		[total, percent(total, tree.total)],
		at.module,
	]);
}

const functionSort = { column: 1, reverse: false },
	functionsMost = 100;

function showFunctions() {
	const columns = ['function', 'self', '%', 'total', '%', 'module'].map(
		(head, index) => ({ head, index, text: index === 0 || index === 5 }),
	);
	const rows = listFunctions().filter(
		row => !$('search').value || matches({ id: 0, name: row[0] }),
	);

	sortRows(rows, functionSort.column, functionSort.reverse);
	$('functions').tHead.replaceChildren(makeHead(columns, functionSort, showFunctions));
	$('functions').tBodies[0].replaceChildren(
		...rows.slice(0, functionsMost).map(row => makeRow(row, columns)),
	);
}

/* ---- choices --------------------------------------------------------------------------------- */

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
			byWeight(sums).map(([id, n]) => option(rootName(data.roots[id]), id, n)),
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
	for (const part of [$('frame'), $('details'), $('functions').parentElement])
		part.hidden = !flame.weight;
	const names = fillRoots();
	$('root').onchange = () => {
		const value = $('root').value;
		tree = makeTree(
			(root, id) =>
				value === 'all' ||
				(value[0] === 'p'
					? names[value.slice(1)] === root.pool
					: +value === id),
		);
		zoomed = tree;
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
	graph.onkeydown = event => {
		if (event.key === 'Enter' && event.target.node) zoom(event.target.node);
	};
	graph.onpointermove = event => {
		const at = event.target.node;
		tip.hidden = !at;
		if (!at) return;
		tip.textContent = describe(at).join('\n');
		const x = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8);
		const y =
			event.clientY + 18 + tip.offsetHeight < innerHeight
				? event.clientY + 18
				: event.clientY - tip.offsetHeight - 8;
		tip.style.left = Math.max(x, 4) + 'px';
		tip.style.top = Math.max(y, 4) + 'px';
	};
	graph.onpointerleave = () => {
		tip.hidden = true;
	};
	addEventListener('keydown', event => event.key === 'Escape' && zoom(tree));
	addEventListener('resize', draw);
}

flames();
