/* SPDX-License-Identifier: MIT */
/* strip.js - of a page: threads or pools over time, a lane each; behind page.js. */
'use strict';

const strip = data.strip;
let laneScale; /* ns of a step that fill the height of a lane */

/* The name of a thread or pool, and what tells it from others of that name. */
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

const stepAt = (lane, i) => lane.cpu_ns[i] + lane.waits_ns[i];

function drawLane(lane) {
	const canvas = lane.canvas,
		style = getComputedStyle(canvas),
		width = (canvas.width = canvas.clientWidth * devicePixelRatio),
		height = (canvas.height = canvas.clientHeight * devicePixelRatio),
		context = canvas.getContext('2d'),
		n = lane.cpu_ns.length;
	const bar = (i, color, from, ns) => {
		const left = Math.floor((i * width) / n),
			right = Math.floor(((i + 1) * width) / n),
			bottom = height * (1 - from / laneScale),
			top = height * (1 - (from + ns) / laneScale);
		context.fillStyle = style.getPropertyValue(color);
		context.fillRect(left, top, right - left, bottom - top);
	};
	for (let i = 0; i < n; i++) {
		if (lane.cpu_ns[i]) bar(i, '--cpu', 0, lane.cpu_ns[i]);
		if (lane.waits_ns[i]) bar(i, '--waits', lane.cpu_ns[i], lane.waits_ns[i]);
	}
}

function describeStep(lane, i) {
	const part = (what, ns) =>
		what + ' ' + time(ns) + ' (' + percent(lane.thread === null ? ns : Math.min(ns, strip.step_ns), strip.step_ns) + ' of the time)';
	return [
		clean(rootName(lane)),
		time(i * strip.step_ns) + ' to ' + time((i + 1) * strip.step_ns),
		part('on the CPU' + (strip.waits ? ' by samples' : ''), lane.cpu_ns[i]),
		...(strip.waits ? [part('waits', lane.waits_ns[i])] : []),
	];
}

/* Its flame graph, if it has one. */
function chooseLane(lane) {
	const option = [...$('root').options].find(
		entry => entry.textContent.replace(/: [0-9.]+ %$/, '') === clean(rootName(lane)),
	);
	if (!option) return;
	$('root').value = option.value;
	$('root').onchange();
	$('flames').scrollIntoView();
}

function addLane(lane) {
	const row = make('div', null, 'lane'),
		sum = lane.cpu_ns.reduce((a, b) => a + b, 0),
		name = button(rootName(lane), () => chooseLane(lane)),
		tip = $('tip');

	name.title = clean(rootName(lane)) + ': its flame graph';
	lane.canvas = make('canvas');
	lane.canvas.role = 'img';
	lane.canvas.ariaLabel = clean(rootName(lane)) + ': ' + time(sum) + ' on the CPU';
	lane.canvas.onpointermove = event => {
		const at = Math.floor(
			(event.offsetX / lane.canvas.clientWidth) * lane.cpu_ns.length,
		);
		tip.textContent = describeStep(
			lane,
			Math.min(Math.max(at, 0), lane.cpu_ns.length - 1),
		).join('\n');
		placeTip(event);
	};
	lane.canvas.onpointerleave = () => {
		tip.hidden = true;
	};
	row.append(name, lane.canvas, make('span', time(sum)));
	$('lanes').append(row);
}

function placeTip(event) {
	const tip = $('tip');

	tip.hidden = false;
	const x = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8);
	const y =
		event.clientY + 18 + tip.offsetHeight < innerHeight
			? event.clientY + 18
			: event.clientY - tip.offsetHeight - 8;
	tip.style.left = Math.max(x, 4) + 'px';
	tip.style.top = Math.max(y, 4) + 'px';
}

function showStrip() {
	const lanes = strip.lanes;

	/* Of a difference there are two. */
	if (!lanes.length || data.before) return;
	$('over-time').hidden = false;
	$('lane-kinds').lastElementChild.hidden = !strip.waits;
	if (strip.all > lanes.length)
		$('lanes').append(
			make('p', 'the ' + lanes.length + ' of ' + integer(strip.all) + ' with most CPU time'),
		);
	laneScale = strip.step_ns;
	/* A thread fills it with all of its time. */
	for (const lane of lanes)
		for (let i = 0; lane.thread === null && i < lane.cpu_ns.length; i++)
			laneScale = Math.max(laneScale, stepAt(lane, i));
	lanes.forEach(addLane);
	[0, 0.5, 1].forEach((share, i) => {
		$('axis').children[i].textContent =
			Number(((share * strip.step_ns * lanes[0].cpu_ns.length) / 1e9).toPrecision(4)) +
			' s';
	});
	const drawAll = () => lanes.forEach(drawLane);
	drawAll();
	addEventListener('resize', drawAll);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
}

showStrip();
