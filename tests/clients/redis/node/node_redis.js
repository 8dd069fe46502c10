// node-redis: its commands on strings, keys and hashes.
'use strict';

const redis = require('redis');
const { BINARY, LARGE, ca, check, equal, host, key, main, near, now, password, port, refused, restartServer, sleep, username } = require('./checks');

const WRONG_TYPE = 'Operation against a key holding the wrong kind of value';

function client(options) {
  const socket = { host, port, ...(ca ? { tls: true, ca } : {}) };
  const c = redis.createClient({ socket, username, password, ...options });
  c.on('error', () => {});
  return c;
}
const connect = (options) => client(options).connect();
const bytes = (c) => c.withTypeMapping({ [redis.RESP_TYPES.BLOB_STRING]: Buffer });

check('SET stores and replaces', async (c) => {
  const k = key();
  equal(await c.get(k), null);
  equal(await c.set(k, 'a'), 'OK');
  equal(await c.set(k, 'b'), 'OK');
  equal(await c.get(k), 'b');
});

check('SET nx and xx', async (c) => {
  const k = key();
  equal(await c.set(k, 'a', { condition: 'XX' }), null);
  equal(await c.set(k, 'a', { condition: 'NX' }), 'OK');
  equal(await c.set(k, 'b', { condition: 'NX' }), null);
  equal(await c.set(k, 'c', { condition: 'XX' }), 'OK');
  equal(await c.get(k), 'c');
});

check('SET ex px exat and pxat', async (c) => {
  const [k, at] = [key(), now() + 300];
  await c.set(k, 'a', { expiration: { type: 'EX', value: 100 } });
  near(await c.ttl(k), 100);
  await c.set(k, 'a', { expiration: { type: 'PX', value: 200000 } });
  near(await c.ttl(k), 200);
  await c.set(k, 'a', { expiration: { type: 'EXAT', value: at } });
  equal(await c.expireTime(k), at);
  await c.set(k, 'a', { expiration: { type: 'PXAT', value: at * 1000 + 100000 } });
  equal(await c.expireTime(k), at + 100);
  await c.set(k, 'a');
  equal(await c.ttl(k), -1);
});

check('SET keepttl and get', async (c) => {
  const k = key();
  await c.set(k, 'a', { expiration: { type: 'EX', value: 100 } });
  equal(await c.set(k, 'b', { expiration: 'KEEPTTL', GET: true }), 'a');
  near(await c.ttl(k), 100);
  equal(await c.set(key(), 'b', { GET: true }), null);
});

check('SET expires', async (c) => {
  const k = key();
  await c.set(k, 'a', { expiration: { type: 'EX', value: 1 } });
  equal(await c.get(k), 'a');
  await sleep(2200);
  equal(await c.get(k), null);
});

check('SETNX stores only what is absent', async (c) => {
  const k = key();
  equal(await c.setNX(k, 'a'), 1);
  equal(await c.setNX(k, 'b'), 0);
});

check('SETEX stores with an expiry', async (c) => {
  const k = key();
  equal(await c.setEx(k, 100, 'a'), 'OK');
  near(await c.ttl(k), 100);
});

check('PSETEX stores with an expiry in milliseconds', async (c) => {
  const k = key();
  equal(await c.pSetEx(k, 100000, 'a'), 'OK');
  near(await c.ttl(k), 100);
});

check('GETEX reads and changes the expiry', async (c) => {
  const k = key();
  equal(await c.getEx(k, { type: 'EX', value: 10 }), null);
  await c.set(k, 'a');
  equal(await c.getEx(k, { type: 'EX', value: 100 }), 'a');
  near(await c.ttl(k), 100);
  equal(await c.getEx(k, { type: 'PXAT', value: (now() + 200) * 1000 }), 'a');
  near(await c.ttl(k), 200);
  equal(await c.getEx(k, { type: 'PERSIST' }), 'a');
  equal(await c.ttl(k), -1);
});

check('GETDEL reads and deletes', async (c) => {
  const k = key();
  equal(await c.getDel(k), null);
  await c.set(k, 'a');
  equal(await c.getDel(k), 'a');
  equal(await c.exists(k), 0);
});

check('GETSET replaces and returns', async (c) => {
  const k = key();
  equal(await c.getSet(k, 'a'), null);
  equal(await c.getSet(k, 'b'), 'a');
});

check('MSET stores all', async (c) => {
  const values = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [key(), `${n}`]));
  equal(await c.mSet(values), 'OK');
  equal(await c.mGet(Object.keys(values)), Object.values(values));
});

check('MGET reads all with holes', async (c) => {
  const [a, b, h] = [key(), key(), key()];
  await c.mSet([[a, '1'], [b, '2']]);
  await c.hSet(h, 'f', 'v');
  equal(await c.mGet([a, key(), h, b]), ['1', null, null, '2']);
});

check('MSETNX stores all or none', async (c) => {
  const [a, b] = [key(), key()];
  equal(await c.mSetNX([[a, '1'], [b, '2']]), 1);
  equal(await c.mSetNX([[key(), '1'], [b, '3']]), 0);
});

check('APPEND appends and creates', async (c) => {
  const k = key();
  equal(await c.append(k, 'ab'), 2);
  equal(await c.append(k, 'cd'), 4);
  equal(await c.get(k), 'abcd');
});

check('STRLEN counts bytes', async (c) => {
  const k = key();
  equal(await c.strLen(k), 0);
  await c.set(k, 'héllo');
  equal(await c.strLen(k), 6);
});

check('GETRANGE reads a part', async (c) => {
  const k = key();
  await c.set(k, 'This is a string');
  equal(await c.getRange(k, 0, 3), 'This');
  equal(await c.getRange(k, -3, -1), 'ing');
  equal(await c.getRange(k, 5, 2), '');
});

check('SETRANGE writes a part', async (c) => {
  const k = key();
  await c.set(k, 'Hello World');
  equal(await c.setRange(k, 6, 'Redis'), 11);
  equal(await c.get(k), 'Hello Redis');
});

check('INCR counts up', async (c) => {
  const k = key();
  equal(await c.incr(k), 1);
  equal(await c.incr(k), 2);
  await c.set(k, '9223372036854775807');
  await refused('increment or decrement would overflow', c.incr(k));
});

check('INCRBY adds', async (c) => {
  const k = key();
  equal(await c.incrBy(k, 40), 40);
  equal(await c.incrBy(k, -50), -10);
});

check('INCRBYFLOAT adds fractions', async (c) => {
  const k = key();
  equal(await c.incrByFloat(k, 10.5), '10.5');
  equal(await c.incrByFloat(k, 0.1), '10.6');
});

check('DECR counts down', async (c) => equal(await c.decr(key()), -1));
check('DECRBY subtracts', async (c) => equal(await c.decrBy(key(), 7), -7));

check('DEL deletes and counts', async (c) => {
  const keys = Array.from({ length: 100 }, () => key());
  await c.mSet(keys.map((k) => [k, 'a']));
  equal(await c.del([...keys, key()]), 100);
  equal(await c.exists(keys), 0);
});

check('UNLINK deletes too', async (c) => {
  const [a, b] = [key(), key()];
  await c.mSet([[a, '1'], [b, '2']]);
  equal(await c.unlink([a, b, key()]), 2);
});

check('EXISTS counts repeats', async (c) => {
  const k = key();
  await c.set(k, 'a');
  equal(await c.exists([k, k, key()]), 2);
});

check('EXPIRE nx xx gt and lt', async (c) => {
  const k = key();
  equal(await c.expire(k, 100), 0);
  await c.set(k, 'a');
  equal(await c.expire(k, 100, 'XX'), 0);
  equal(await c.expire(k, 100, 'NX'), 1);
  equal(await c.expire(k, 50, 'GT'), 0);
  equal(await c.expire(k, 200, 'GT'), 1);
  equal(await c.expire(k, 300, 'LT'), 0);
  equal(await c.expire(k, 60, 'LT'), 1);
  near(await c.ttl(k), 60);
});

check('PEXPIRE takes milliseconds', async (c) => {
  const k = key();
  await c.set(k, 'a');
  equal(await c.pExpire(k, 100000), 1);
  near(await c.ttl(k), 100);
});

check('EXPIREAT takes a moment', async (c) => {
  const [k, at] = [key(), now() + 100];
  await c.set(k, 'a');
  equal(await c.expireAt(k, at), 1);
  equal(await c.expireTime(k), at);
});

check('PEXPIREAT takes a moment in milliseconds', async (c) => {
  const [k, at] = [key(), now() + 100];
  await c.set(k, 'a');
  equal(await c.pExpireAt(k, at * 1000), 1);
  equal(await c.pExpireTime(k), at * 1000);
});

check('TTL tells absent from unlimited', async (c) => {
  const k = key();
  equal(await c.ttl(k), -2);
  await c.set(k, 'a');
  equal(await c.ttl(k), -1);
});

check('PTTL counts milliseconds', async (c) => {
  const k = key();
  await c.set(k, 'a', { expiration: { type: 'EX', value: 10 } });
  const left = await c.pTTL(k);
  equal(left >= 8000 && left <= 11000, true);
});

check('PERSIST removes the expiry', async (c) => {
  const k = key();
  await c.set(k, 'a', { expiration: { type: 'EX', value: 100 } });
  equal(await c.persist(k), 1);
  equal(await c.persist(k), 0);
  equal(await c.ttl(k), -1);
});

check('TOUCH counts what is there', async (c) => {
  const k = key();
  await c.set(k, 'a');
  equal(await c.touch([k, key()]), 1);
});

check('TYPE names strings and hashes', async (c) => {
  const [s, h] = [key(), key()];
  await c.set(s, 'a');
  await c.hSet(h, 'f', 'v');
  equal(await Promise.all([s, h, key()].map((k) => c.type(k))), ['string', 'hash', 'none']);
});

check('RENAME moves a value', async (c) => {
  const [a, b] = [key(), key()];
  await c.set(a, '1');
  equal(await c.rename(a, b), 'OK');
  equal(await c.get(b), '1');
});

check('COPY copies a value', async (c) => {
  const [a, b] = [key(), key()];
  await c.set(a, '1');
  equal(await c.copy(a, b), 1);
  equal(await c.get(b), '1');
});

check('SCAN iterates with match, count and type', async (c) => {
  const prefix = key();
  const keys = Array.from({ length: 1000 }, (_, n) => `${prefix}:${n}`);
  await c.mSet(keys.map((k) => [k, 'a']));
  await c.hSet(`${prefix}:h`, 'f', 'v');
  const found = new Set();
  for await (const some of c.scanIterator({ MATCH: `${prefix}:*`, COUNT: 100 })) some.forEach((k) => found.add(k));
  equal([...found].sort(), [...keys, `${prefix}:h`].sort());
  const hashes = new Set();
  for await (const some of c.scanIterator({ MATCH: `${prefix}:*`, TYPE: 'hash' })) some.forEach((k) => hashes.add(k));
  equal([...hashes], [`${prefix}:h`]);
});

check('KEYS matches patterns', async (c) => {
  const prefix = key();
  await c.mSet([[`${prefix}:one`, '1'], [`${prefix}:two`, '2']]);
  equal(await c.keys(`${prefix}:t[a-z]?`), [`${prefix}:two`]);
});

check('RANDOMKEY gives some key', async (c) => {
  await c.set(key(), 'a');
  equal(await c.exists(await c.randomKey()), 1);
});

check('DBSIZE counts keys', async (c) => {
  const before = await c.dbSize();
  await c.set(key(), 'a');
  equal(await c.dbSize(), before + 1);
});

check('SETBIT sets and returns the old bit', async (c) => {
  const k = key();
  equal(await c.setBit(k, 7, 1), 0);
  equal(await c.setBit(k, 7, 1), 1);
});

check('GETBIT reads a bit', async (c) => {
  const k = key();
  await c.setBit(k, 7, 1);
  equal([await c.getBit(k, 7), await c.getBit(k, 0), await c.getBit(k, 100)], [1, 0, 0]);
});

check('BITCOUNT counts in ranges', async (c) => {
  const k = key();
  await c.set(k, 'foobar');
  equal(await c.bitCount(k), 26);
  equal(await c.bitCount(k, { start: 5, end: 30, mode: 'BIT' }), 17);
});

check('BITPOS finds the first', async (c) => {
  const k = key();
  await c.set(k, Buffer.from([0xff, 0xf0, 0]));
  equal([await c.bitPos(k, 0), await c.bitPos(k, 1, 2)], [12, -1]);
});

check('BITFIELD gets sets and adds', async (c) => {
  const k = key();
  equal(await c.bitField(k, [
    { operation: 'SET', encoding: 'u8', offset: '#1', value: 255 },
    { operation: 'OVERFLOW', behavior: 'FAIL' },
    { operation: 'INCRBY', encoding: 'u8', offset: '#1', increment: 1 },
    { operation: 'GET', encoding: 'u8', offset: '#1' },
  ]), [0, null, 255]);
});

check('BITFIELD_RO only reads', async (c) => {
  const k = key();
  await c.set(k, Buffer.from([0x12, 0x34]));
  equal(await c.bitFieldRo(k, [{ encoding: 'u4', offset: 0 }]), [1]);
});

check('HSET adds and replaces fields', async (c) => {
  const k = key();
  equal(await c.hSet(k, 'a', '1'), 1);
  equal(await c.hSet(k, { a: '5', b: '3', c: '4' }), 2);
  equal(await c.hGetAll(k), { a: '5', b: '3', c: '4' });
});

check('HSETNX adds only an absent field', async (c) => {
  const k = key();
  equal([await c.hSetNX(k, 'a', '1'), await c.hSetNX(k, 'a', '2')], [1, 0]);
});

check('HGET reads a field', async (c) => {
  const k = key();
  await c.hSet(k, 'a', '1');
  equal([await c.hGet(k, 'a'), await c.hGet(k, 'b')], ['1', null]);
});

check('HMGET reads fields with holes', async (c) => {
  const k = key();
  await c.hSet(k, { a: '1', b: '2' });
  equal(await c.hmGet(k, ['a', 'x', 'b']), ['1', null, '2']);
});

check('HGETALL reads large hashes', async (c) => {
  const k = key();
  const fields = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`field ${n}`, `${n}`]));
  equal(await c.hSet(k, fields), 2000);
  equal(await c.hGetAll(k), fields);
  equal(await c.hGetAll(key()), {});
});

check('HDEL removes fields and then the key', async (c) => {
  const k = key();
  await c.hSet(k, { a: '1', b: '2' });
  equal(await c.hDel(k, ['a', 'x']), 1);
  equal(await c.hDel(k, 'b'), 1);
  equal(await c.exists(k), 0);
});

check('HLEN counts fields', async (c) => {
  const k = key();
  await c.hSet(k, { a: '1', b: '2' });
  equal([await c.hLen(k), await c.hLen(key())], [2, 0]);
});

check('HEXISTS looks for a field', async (c) => {
  const k = key();
  await c.hSet(k, 'a', '1');
  equal([await c.hExists(k, 'a'), await c.hExists(k, 'b')], [1, 0]);
});

check('HKEYS lists fields', async (c) => {
  const k = key();
  await c.hSet(k, { a: '1', b: '2' });
  equal((await c.hKeys(k)).sort(), ['a', 'b']);
});

check('HVALS lists values', async (c) => {
  const k = key();
  await c.hSet(k, { a: '1', b: '2' });
  equal((await c.hVals(k)).sort(), ['1', '2']);
});

check('HINCRBY adds to a field', async (c) => {
  const k = key();
  equal([await c.hIncrBy(k, 'a', 5), await c.hIncrBy(k, 'a', -7)], [5, -2]);
});

check('HINCRBYFLOAT adds fractions to a field', async (c) => {
  const k = key();
  equal([await c.hIncrByFloat(k, 'a', 1.5), await c.hIncrByFloat(k, 'a', 2.25)], ['1.5', '3.75']);
});

check('HSTRLEN counts bytes of a field', async (c) => {
  const k = key();
  await c.hSet(k, 'a', 'hello');
  equal(await c.hStrLen(k, 'a'), 5);
});

check('HSCAN iterates over fields', async (c) => {
  const k = key();
  const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`f${n}`, `${n}`]));
  await c.hSet(k, fields);
  const got = {};
  for await (const some of c.hScanIterator(k, { COUNT: 50 })) some.forEach(({ field, value }) => { got[field] = value; });
  equal(got, fields);
  const match = [];
  for await (const some of c.hScanIterator(k, { MATCH: 'f99?' })) match.push(...some);
  equal(match.length, 10);
});

check('HRANDFIELD gives some fields', async (c) => {
  const k = key();
  await c.hSet(k, { a: '1', b: '2', c: '3' });
  equal(['a', 'b', 'c'].includes(await c.hRandField(k)), true);
  equal((await c.hRandFieldCount(k, -7)).length, 7);
  const pairs = await c.hRandFieldCountWithValues(k, 5);
  equal(pairs.map(({ field, value }) => field + value).sort(), ['a1', 'b2', 'c3']);
});

check('pipeline many commands in one write', async (c) => {
  const k = key();
  const multi = c.multi();
  for (let n = 0; n < 1000; n++) multi.set(`${k}:${n}`, `${n}`);
  for (let n = 0; n < 1000; n++) multi.get(`${k}:${n}`);
  const got = await multi.execAsPipeline();
  equal(got.slice(1000), Array.from({ length: 1000 }, (_, n) => `${n}`));
});

check('pipeline commands without waiting', async (c) => {
  const k = key();
  const got = await Promise.all(Array.from({ length: 1000 }, () => c.incr(k)));
  equal(got, Array.from({ length: 1000 }, (_, n) => n + 1));
});

check('MULTI runs a transaction', async (c) => equal(await c.multi().set(key(), '1').exec(), ['OK']));

check('binary keys, values and fields of any bytes', async (text) => {
  const c = bytes(text);
  const k = Buffer.concat([BINARY, Buffer.from(key())]);
  equal(await c.set(k, BINARY), 'OK');
  equal(await c.get(k), BINARY);
  await c.hSet(key(), BINARY, BINARY);
  const h = key();
  await c.hSet(h, BINARY, BINARY);
  equal(await c.hGet(h, BINARY), BINARY);
  await c.set(k, '');
  equal((await c.get(k)).length, 0);
});

check('large values of a mebibyte less a little', async (text) => {
  const [c, k] = [bytes(text), key()];
  equal(await c.set(k, LARGE), 'OK');
  equal(await c.get(k), LARGE);
  equal(await c.getRange(k, 1000, 200000), LARGE.subarray(1000, 200001));
});

check('errors wrong types', async (c) => {
  const [s, h] = [key(), key()];
  await c.set(s, 'a');
  await c.hSet(h, 'f', 'v');
  await refused(WRONG_TYPE, c.get(h));
  await refused(WRONG_TYPE, c.incr(h));
  await refused(WRONG_TYPE, c.hGetAll(s));
});

check('errors no integers', async (c) => {
  const k = key();
  await c.set(k, 'text');
  await refused('value is not an integer or out of range', c.incr(k));
  await refused('value is not a valid float', c.incrByFloat(k, 1.5));
});

check('errors unknown commands', async (c) => {
  await refused("unknown command 'BOGUS', with args beginning with: 'a'", c.sendCommand(['BOGUS', 'a']));
  await refused("wrong number of arguments for 'get' command", c.sendCommand(['GET']));
  equal(await c.ping(), 'PONG');
});

check('CLIENT names and numbers', async (c) => {
  equal(await c.clientSetName('a-name'), 'OK');
  equal(await c.clientGetName(), 'a-name');
  equal((await c.clientId()) > 0, true);
  equal((await c.clientInfo()).name, 'a-name');
});

check('ECHO echoes', async (c) => equal(await c.echo('hello'), 'hello'));

check('INFO reports', async (c) => {
  const info = await c.info();
  for (const name of ['redis_version', 'redis_mode', 'role:master', 'loading:0', 'connected_clients']) equal(info.includes(name), true);
});

check('CONFIG gets settings', async (c) => equal(Object.keys(await c.configGet('appendonly')), ['appendonly']));

check('COMMAND describes commands', async (c) => {
  const [get] = await c.commandInfo(['get']);
  equal([get.name, get.arity, get.firstKeyIndex], ['get', 2, 1]);
});

check('pool of many connections', async () => {
  const pool = redis.createClientPool({ socket: { host, port }, username, password }, { minimum: 1, maximum: 50 });
  pool.on('error', () => {});
  await pool.connect();
  const keys = Array.from({ length: 2000 }, () => key());
  await Promise.all(keys.map((k) => pool.set(k, k)));
  equal(await Promise.all(keys.map((k) => pool.get(k))), keys);
  await pool.destroy();
});

check('RESP2 works too', async () => {
  const [c, h] = [await connect({ RESP: 2 }), key()];
  await c.hSet(h, { a: '1' });
  equal(await c.hGetAll(h), { a: '1' });
  c.destroy();
});

check('FLUSHDB removes all', async (c) => {
  await c.set(key(), 'a');
  equal(await c.flushDb(), 'OK');
  equal(await c.dbSize(), 0);
});

check('connects and works', async (text) => {
  const [c, k] = [bytes(text), key()];
  equal(await c.set(k, LARGE), 'OK');
  equal(await c.get(k), LARGE);
}, 'session');

check('connects but not with a wrong password', async () => {
  if (!password) return;
  await refused('invalid username-password pair', connect({ password: 'wrong', socket: { host, port, reconnectStrategy: false, ...(ca ? { tls: true, ca } : {}) } }));
}, 'session');

check('restart values are still there', async (c) => {
  const values = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [key(), `value ${n}`]));
  const h = key();
  await c.mSet(values);
  await c.hSet(h, { a: '1' });
  await restartServer();
  equal(await c.mGet(Object.keys(values)), Object.values(values));
  equal(await c.hGetAll(h), { a: '1' });
}, 'restart');

main(() => connect(), (c) => c.destroy());
