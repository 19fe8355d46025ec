// SPDX-License-Identifier: MIT
// node_workers: four worker threads, their results in order, an exit status.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto');

if (!isMainThread) {
	let h = Buffer.from(String(workerData));
	for (let i = 0; i < 20000; i++)
		h = crypto.createHash('sha256').update(h).digest();
	parentPort.postMessage(h.toString('hex'));
} else {
	const one = (i) => new Promise((done, bad) => {
		const w = new Worker(__filename, { workerData: i });
		w.on('message', done);
		w.on('error', bad);
	});
	Promise.all([0, 1, 2, 3].map(one)).then((all) => {
		all.forEach((r) => console.log(r));
		console.error('done');
		process.exitCode = 6;
	});
}
