// SPDX-License-Identifier: MIT
// read.mjs - reads the tables of pmctl export --to parquet; run from a folder with node_modules.
//
//	read.mjs duckdb DIR [SQL...]	prints the rows of each query, cells separated by |
//	read.mjs time REPEAT SQL...	prints the least time of each query in ms, run in turn
//	read.mjs hyparquet DIR		prints as JSON, by table and column, the number of rows and nulls, and the
//					sum of numbers or the number of different texts
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const require = createRequire(join(process.cwd(), 'x.js'));
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const tables = ['processes', 'threads', 'events', 'samples', 'stacks', 'waits'];
const [mode, dir, ...queries] = process.argv.slice(2);

async function connect() {
	const { DuckDBInstance } = (await load('@duckdb/node-api')).default;
	return (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
}

async function duckdb() {
	const connection = await connect();
	for (const table of tables)
		await connection.run(`create view ${table} as from read_parquet('${dir}/${table}/**/*.parquet', hive_partitioning = true)`);
	for (const query of queries)
		for (const row of (await connection.runAndReadAll(query)).getRows())
			console.log(row.map((cell) => (cell === null ? 'NULL' : String(cell))).join('|'));
}

async function time() {
	const connection = await connect(), least = [];
	for (let i = 0; i < Number(dir); i++)
		for (const [k, query] of queries.entries()) {
			const from = performance.now();
			await connection.runAndReadAll(query);
			least[k] = Math.min(least[k] ?? Infinity, performance.now() - from);
		}
	for (const ms of least) console.log(ms.toFixed(3));
}

async function hyparquet() {
	const { parquetReadObjects } = await load('hyparquet');
	const { compressors } = await load('hyparquet-compressors');
	const found = {};
	for (const table of tables)
		for (const name of readdirSync(join(dir, table), { recursive: true }).filter((n) => n.endsWith('.parquet'))) {
			const bytes = readFileSync(join(dir, table, name));
			const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
			for (const row of await parquetReadObjects({ file, compressors }))
				for (const [key, value] of Object.entries(row)) {
					const at = ((found[table] ??= {})[key] ??= { rows: 0, nulls: 0, sum: 0n, texts: new Set() });
					at.rows++;
					if (value === null || value === undefined) at.nulls++;
					else if (typeof value === 'bigint') at.sum += value;
					else if (typeof value === 'number') at.sum += BigInt(Math.trunc(value));
					else if (typeof value === 'string') at.texts.add(value);
				}
		}
	console.log(JSON.stringify(found, (key, value) => (value instanceof Set ? value.size : typeof value === 'bigint' ? String(value) : value)));
}

await { duckdb, time, hyparquet }[mode]();
