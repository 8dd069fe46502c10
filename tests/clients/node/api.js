// npm memcached: its whole API against the server that the arguments name.
'use strict';

const assert = require('node:assert');
const crypto = require('node:crypto');
const Memcached = require('memcached');

const address = `${process.argv[2]}:${process.argv[3]}`;
const run = crypto.randomBytes(4).toString('hex');
let serial = 0;
const key = () => `node-${run}-${serial++}`;
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

// A client whose methods return promises instead of taking callbacks.
function connect(options) {
  const client = new Memcached(address, { timeout: 10000, retries: 0, poolSize: 10, ...options });
  return new Proxy(client, {
    get(target, name) {
      const method = target[name];
      if (typeof method !== 'function' || name === 'end') return method;
      return (...args) =>
        new Promise((resolve, reject) => {
          method.call(target, ...args, (error, result) =>
            error ? reject(Array.isArray(error) ? error[0] : error) : resolve(result));
        });
    },
  });
}

// Does the work for every item, as many at a time as the pool has connections: with more in flight
// this client reports a full pool.
async function each(items, work) {
  const results = [];
  for (let at = 0; at < items.length; at += 10) {
    results.push(...(await Promise.all(items.slice(at, at + 10).map((item, n) => work(item, at + n)))));
  }
  return results;
}

const checks = {
  async 'set and get'(c) {
    const k = key();
    assert.strictEqual(await c.get(k), undefined);
    assert.strictEqual(await c.set(k, 'value', 0), true);
    assert.strictEqual(await c.get(k), 'value');
  },

  async 'types travel in the flags'(c) {
    const k = key();
    for (const value of ['text ü', 42, { a: [1, 2] }, Buffer.from([0, 1, 255, 13, 10])]) {
      await c.set(k, value, 0);
      assert.deepStrictEqual(await c.get(k), value);
    }
  },

  async 'add stores only what is absent'(c) {
    const k = key();
    assert.strictEqual(await c.add(k, 'a', 0), true);
    await assert.rejects(c.add(k, 'b', 0), { notStored: true });
    assert.strictEqual(await c.get(k), 'a');
  },

  async 'replace stores only what is present'(c) {
    const k = key();
    await assert.rejects(c.replace(k, 'a', 0), { notStored: true });
    await c.set(k, 'a', 0);
    assert.strictEqual(await c.replace(k, 'b', 0), true);
    assert.strictEqual(await c.get(k), 'b');
  },

  async 'append and prepend'(c) {
    const k = key();
    await assert.rejects(c.append(k, 'x'), { notStored: true });
    await assert.rejects(c.prepend(k, 'x'), { notStored: true });
    await c.set(k, 'b', 0);
    assert.strictEqual(await c.append(k, 'c'), true);
    assert.strictEqual(await c.prepend(k, 'a'), true);
    assert.strictEqual(await c.get(k), 'abc');
  },

  async 'gets and cas'(c) {
    const k = key();
    await c.set(k, 'a', 0);
    const got = await c.gets(k);
    assert.strictEqual(got[k], 'a');
    assert.match(got.cas, /^\d+$/);
    assert.strictEqual(await c.cas(k, 'b', got.cas, 0), true);
    assert.strictEqual(await c.cas(k, 'c', got.cas, 0), false);
    assert.strictEqual(await c.get(k), 'b');
    await c.del(k);
    assert.strictEqual(await c.cas(k, 'd', got.cas, 0), false);
  },

  async 'get multi of five thousand keys'(c) {
    const prefix = key();
    const keys = Array.from({ length: 5000 }, (_, n) => `${prefix}-${n}`);
    await each(keys, (k, n) => c.set(k, `value ${n}`, 0));
    const got = await c.getMulti([...keys, key()]);
    assert.strictEqual(Object.keys(got).length, 5000);
    keys.forEach((k, n) => assert.strictEqual(got[k], `value ${n}`));
  },

  async 'delete'(c) {
    const k = key();
    await c.set(k, 'a', 0);
    assert.strictEqual(await c.del(k), true);
    assert.strictEqual(await c.del(k), false);
    assert.strictEqual(await c.get(k), undefined);
  },

  async 'incr and decr with wrap and floor'(c) {
    const k = key();
    assert.strictEqual(await c.incr(k, 1), false);
    await c.set(k, '10', 0);
    assert.strictEqual(await c.incr(k, 5), 15);
    assert.strictEqual(await c.decr(k, 6), 9);
    assert.strictEqual(await c.decr(k, 100), 0);
    await c.set(k, '18446744073709551615', 0);
    assert.strictEqual(await c.incr(k, 1), 0);
    await c.set(k, 'text', 0);
    await assert.rejects(c.incr(k, 1), /cannot increment or decrement non-numeric value/);
    assert.strictEqual(await c.get(k), 'text');
  },

  async 'touch and expiry'(c) {
    const [short, touched, late, past] = [key(), key(), key(), key()];
    await c.set(short, 'a', 3);
    await c.set(touched, 'a', 3);
    await c.set(late, 'a', Math.floor(Date.now() / 1000) + 100);
    await c.set(past, 'a', -1);
    assert.strictEqual(await c.touch(touched, 100), true);
    assert.strictEqual(await c.touch(key(), 100), false);
    assert.strictEqual(await c.get(past), undefined);
    assert.strictEqual(await c.get(short), 'a');
    await sleep(4.2);
    assert.strictEqual(await c.get(short), undefined);
    assert.strictEqual(await c.get(touched), 'a');
    assert.strictEqual(await c.get(late), 'a');
  },

  async 'binary, empty and large values'(c) {
    const k = key();
    await c.set(k, '', 0);
    assert.strictEqual(await c.get(k), '');
    for (const length of [2048, 65537, 500000]) {
      const value = crypto.randomBytes(length / 2).toString('hex');
      await c.set(k, value, 0);
      assert.strictEqual(await c.get(k), value);
    }
  },

  async 'large multi set'(c) {
    const values = Array.from({ length: 200 }, () => [key(), crypto.randomBytes(10000).toString('hex')]);
    await each(values, ([k, value]) => c.set(k, value, 0));
    const got = await c.getMulti(values.map(([k]) => k));
    assert.deepStrictEqual(got, Object.fromEntries(values));
  },

  async 'a value that a server refuses leaves the connection usable'() {
    const c = connect({ poolSize: 1, maxValue: 2 ** 30 });
    const k = key();
    // This client takes a SERVER_ERROR for a dead server, so it gets no answer; a new one looks.
    c.set(k, 'x'.repeat(2 ** 21), 0).catch(() => {});
    await sleep(0.5);
    c.end();
    const other = connect();
    assert.strictEqual(await other.get(k), undefined);
    assert.strictEqual(await other.set(k, 'new', 0), true);
    other.end();
  },

  async 'an error leaves the connection usable'() {
    const c = connect({ poolSize: 1 });
    const k = key();
    await c.set(k, 'text', 0);
    for (let n = 0; n < 5; n++) {
      await assert.rejects(c.incr(k, 1));
      assert.strictEqual(await c.get(k), 'text');
    }
    c.end();
  },

  async 'keys of 250 bytes and longer ones'() {
    const c = connect({ keyCompression: false });
    const k = 'n'.repeat(250);
    assert.strictEqual(await c.set(k, 'a', 0), true);
    assert.strictEqual(await c.get(k), 'a');
    assert.strictEqual(await c.del(k), true);
    c.end();
    const hashing = connect();
    await hashing.set('n'.repeat(400), 'b', 0);
    assert.strictEqual(await hashing.get('n'.repeat(400)), 'b');
    hashing.end();
  },

  async 'namespace'() {
    const c = connect({ namespace: `${key()}:` });
    const other = connect();
    await c.set('a', '1', 0);
    assert.deepStrictEqual(await c.getMulti(['a', 'b']), { a: '1' });
    assert.strictEqual(await other.get('a'), undefined);
    c.end();
    other.end();
  },

  async 'thousands of requests over ten connections'(c) {
    const keys = Array.from({ length: 3000 }, key);
    await each(keys, (k) => c.set(k, k, 0));
    const got = await each(keys, (k) => c.get(k));
    assert.deepStrictEqual(got, keys);
  },

  async 'version'(c) {
    const [version] = await c.version();
    assert.match(version.version, /^\d+\.\d+\.\d+$/);
  },

  async 'stats, settings, slabs and items'(c) {
    const [stats] = await c.stats();
    for (const name of ['pid', 'uptime', 'curr_items', 'cmd_get', 'limit_maxbytes', 'version']) {
      assert.ok(name in stats, name);
    }
    assert.ok('maxbytes' in (await c.settings())[0]);
    await c.slabs();
    await c.items();
  },

  async 'flush'(c) {
    const k = key();
    await c.set(k, 'a', 0);
    assert.deepStrictEqual(await c.flush(), [true]);
    assert.strictEqual(await c.get(k), undefined);
    await c.set(k, 'b', 0);
    assert.strictEqual(await c.get(k), 'b');
  },
};

async function main() {
  for (const [name, check] of Object.entries(checks)) {
    const c = connect();
    const late = sleep(60).then(() => { throw new Error('no answer in 60 s'); });
    try {
      await Promise.race([check(c), late]);
      console.log(`ok ${name}`);
    } catch (error) {
      console.log(`not ok ${name}: ${String(error.message).replaceAll('\n', ' ').slice(0, 600)}`);
    }
    late.catch(() => {});
    c.end();
  }
  console.log('done');
  process.exit(0);
}

main();
