// Resolves names below .test, which is reserved for tests, to loopback. `--import` loads this file.
import dns from 'node:dns'

const resolve = /** @type {(...words: unknown[]) => void} */ (dns.lookup)
/** @param {string} name @param {unknown[]} more */
const lookup = (name, ...more) => resolve(name.endsWith('.test') ? '127.0.0.1' : name, ...more)
// each new connection reads `lookup` from this object
Object.assign(dns, { lookup })
