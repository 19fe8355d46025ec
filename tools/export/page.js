/* SPDX-License-Identifier: MIT */
/*
 * page.js - the tables and the head of a page of pmctl export --to html; flame.js has the rest.
 *
 * All names come from dumps, which may be hostile: they are set as text, never as HTML.
 */
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);

/* Control characters and those that change the direction of text, as \u202e. */
const clean = text =>
	text
		.replace(/\n/g, '\\n')
		.replace(/\t/g, '\\t')
		.replace(
			/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
			c => '\\u' + c.codePointAt(0).toString(16).padStart(4, '0'),
		);

function make(tag, text, className) {
	const element = document.createElement(tag);
	if (text !== undefined && text !== null) element.textContent = clean(text);
	if (className) element.className = className;
	return element;
}

function button(text, onclick) {
	const element = make('button', text);
	element.type = 'button';
	element.onclick = onclick;
	return element;
}

const integer = n => Math.round(n).toLocaleString('en-US');
const percent = (part, whole) => (whole ? (100 * part) / whole : 0).toFixed(2) + ' %';
function time(ns) {
	const [divisor, unit] =
		ns >= 1e9
			? [1e9, 's']
			: ns >= 1e6
				? [1e6, 'ms']
				: ns >= 1e3
					? [1e3, 'µs']
					: [1, 'ns'];
	return (
		Number((ns / divisor).toPrecision(4)).toLocaleString('en-US', {
			maximumFractionDigits: 3,
		}) +
		' ' +
		unit
	);
}

/* ---- sortable rows: those of counts, and of functions ---------------------------------------- */

/* A cell is text, null, or a number with its text. */
const cellText = cell => (cell === null ? '-' : Array.isArray(cell) ? cell[1] : cell);
const cellValue = cell => (Array.isArray(cell) ? cell[0] : cell === '' ? null : cell);

/* Numbers downwards and text upwards at first; cells without a value last. */
function sortRows(rows, column, reverse) {
	rows.sort((a, b) => {
		const x = cellValue(a[column]),
			y = cellValue(b[column]);
		if (x === null || y === null) return (x === null) - (y === null);
		const order = typeof x === 'string' ? (x < y ? -1 : x > y) : y - x;
		return reverse ? -order : order;
	});
}

function makeRow(cells, columns, bars) {
	const tr = make('tr');
	for (const column of columns) {
		const cell = cells[column.index];
		const td = make(
			'td',
			cellText(cell),
			column.text ? 'text' : column.share ? 'share' : '',
		);
		if (column.text) td.title = clean(cellText(cell));
		if (column.path) td.textContent = clean(cellText(cell).replace(/.*\//, ''));
		if (column.share && bars && Array.isArray(cell)) {
			const bar = make('i');
			bar.style.width = (5 * cell[0]) / bars + 'rem';
			td.prepend(bar);
		}
		tr.append(td);
	}
	return tr;
}

function makeHead(columns, sort, onsort) {
	const tr = make('tr');
	for (const column of columns) {
		const th = make('th', null, column.text ? 'text' : '');
		th.scope = 'col';
		if (column.index === sort.column)
			th.ariaSort = !column.text === !sort.reverse ? 'descending' : 'ascending';
		th.append(
			button(column.head, () => {
				sort.reverse = sort.column === column.index && !sort.reverse;
				sort.column = column.index;
				onsort();
			}),
		);
		tr.append(th);
	}
	return tr;
}

/* ---- counts ---------------------------------------------------------------------------------- */

const manyThreads = 20;
let shown = data.tables[0]; /* of data.tables */

for (const entry of data.tables) {
	const columns = entry.table.columns;
	columns.forEach((column, index) =>
		Object.assign(column, { index, share: column.name === 'share' }),
	);
	/* The rows come in this order. */
	const first = columns.findIndex(
		column => column.name === 'task-clock.sum' || column.name === 'task-clock',
	);
	const cpu = columns.findIndex(column => column.name === 'cpu_ns');
	entry.sort = { column: cpu >= 0 ? cpu : first, reverse: false };
}

function tabs() {
	const words = { thread: 'Threads', pool: 'Pools', process: 'Processes', region: 'Regions' };
	$('tabs').replaceChildren(
		...data.tables.map(entry => {
			const images =
				entry.by === 'process' && entry.table.all > data.processes;
			const tab = button(
				(images ? 'Process images' : words[entry.by]) +
					' (' +
					integer(entry.table.all) +
					')',
				() => {
					shown = entry;
					tabs();
					showTable();
				},
			);
			if (images)
				tab.title = 'A process that calls exec has a row for each program.';
			tab.ariaPressed = entry === shown;
			return tab;
		}),
	);
}

function showTable() {
	const table = shown.table,
		words = $('filter')
			.value.toLowerCase()
			.split(/\s+/)
			.filter(word => word);
	const columns = table.columns.filter(column => !column.spread || $('spread').checked);
	const text = table.columns.filter(column => column.text || /^(tid|pid)$/.test(column.name));
	const share = table.columns.find(column => column.share);
	const bars = share && Math.max(...table.rows.map(row => cellValue(row[share.index]) || 0));
	const rows = table.rows.filter(row =>
		words.every(word =>
			text.some(column =>
				cellText(row[column.index]).toLowerCase().includes(word),
			),
		),
	);

	if (shown.sort.column >= 0) sortRows(rows, shown.sort.column, shown.sort.reverse);
	$('head').replaceChildren(makeHead(columns, shown.sort, showTable));
	$('rows').replaceChildren(...rows.map(row => makeRow(row, columns, bars)));
	$('sums').replaceChildren(...table.sums.map(row => makeRow(row, columns)));
	$('spread-label').hidden = !table.columns.some(column => column.spread);
	$('matches').textContent = words.length
		? integer(rows.length) + ' of ' + integer(table.rows.length) + ' rows'
		: '';
}

/* ---- the page -------------------------------------------------------------------------------- */

function limits() {
	const lines = [];
	if (data.tables.some(entry => entry.table.rows.length < entry.table.all))
		lines.push(
			'Tables have the ' +
				integer(data.rows_most) +
				' rows with most CPU time, and one for the rest.',
		);
	if (data.by_pool)
		lines.push(
			'More than ' +
				integer(data.threads_most) +
				' threads have samples, so their flame graphs are those of pools.',
		);
	for (const entry of data.flames)
		if (entry.left_out)
			lines.push(
				'Flame graph of ' +
					entry.event +
					': ' +
					integer(entry.left_out) +
					' boxes of at most ' +
					Number(entry.most_left_out_pct.toPrecision(3)) +
					' % of their ' +
					(data.by_pool ? 'pool' : 'thread') +
					" are left out; only their callers' weight has theirs.",
			);
	lines.push('Written by pmctl ' + data.pmctl + '.');
	$('limits').textContent = clean(lines.join(' '));
}

const first = data.tables[0].table;
document.title = clean(first.command) + ' - pmctl';
$('command').textContent = (data.before ? 'B: ' : '') + clean(first.command);
$('figures').textContent = clean(first.figures);
const list = (word, names) =>
	word +
	(names.length > 1 ? 's: ' : ': ') +
	names.slice(0, 20).join(', ') +
	(names.length > 20 ? ' and ' + integer(names.length - 20) + ' more' : '');
$('hosts').textContent = clean(
	(data.before ? 'tables of B · ' : '') + list('host', data.hosts) + (data.files.length > 1 ? ' · ' + list('dump', data.files) : ''),
);
$('notes').replaceChildren(...first.notes.map(note => make('li', note)));
if (first.rows.length > manyThreads) shown = data.tables[1];
$('filter').oninput = showTable;
$('spread').onchange = showTable;
tabs();
showTable();
limits();
