// What the programs for Node.js share: named checks, keys of their own, a closing mark.
'use strict';

const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const readline = require('node:readline');

const [client, mode, host, port] = process.argv.slice(2);
const checks = { api: [], session: [], restart: [] };

exports.client = client;
exports.host = host;
exports.port = Number(port);
exports.username = process.env.USERNAME;
exports.password = process.env.PASSWORD;
exports.ca = process.env.CA_FILE && fs.readFileSync(process.env.CA_FILE);
exports.BINARY = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
exports.LARGE = crypto.randomBytes(1024 * 1024 - 512);

exports.key = (name = 'k') => `node:${crypto.randomUUID()}:${name}`;
exports.sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
exports.now = () => Math.floor(Date.now() / 1000);
exports.check = (name, run, when = 'api') => checks[when].push([name, run]);

// Values of any prototype are compared by what they hold: hashes come as objects without one.
exports.equal = (got, expected) => {
  const plain = (value) => (value && typeof value === 'object' && !Buffer.isBuffer(value) && !Array.isArray(value)
    && !(value instanceof Set) ? { ...value } : value);
  assert.deepStrictEqual(plain(got), plain(expected));
};

exports.near = (got, expected) => assert.ok(got >= expected - 2 && got <= expected, `expected about ${expected}, got ${got}`);

// The server must refuse it, with this in its words.
exports.refused = async (text, promise) => {
  let got;
  try {
    got = await promise;
  } catch (error) {
    assert.ok(String(error.message).includes(text), `expected an error with \`${text}\`, got \`${error.message}\``);
    return;
  }
  assert.fail(`expected an error with \`${text}\`, got ${got}`);
};

// Asks whoever started this to kill the server and start it again.
exports.restartServer = () => {
  const input = readline.createInterface({ input: process.stdin });
  return new Promise((resolve) => {
    input.once('line', () => { input.close(); resolve(); });
    console.log('restart');
  });
};

exports.main = async (connect, close) => {
  for (const [name, run] of checks[mode]) {
    let c;
    try {
      c = await connect();
      const late = exports.sleep(60000).then(() => { throw new Error('no answer in 60 s'); });
      late.catch(() => {});
      await Promise.race([run(c), late]);
      console.log(`ok ${name}`);
    } catch (error) {
      const where = String(error.stack).split('\n').find((line) => /redis\.js:/.test(line)) || '';
      console.log(`not ok ${name}: ${String(error.message).replaceAll('\n', ' ').slice(0, 400)} ${where.trim()}`);
    }
    if (c) await close(c);
  }
  console.log('done');
  process.exit(0);
};
