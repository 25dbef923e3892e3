import { enableCompileCache, flushCompileCache } from 'node:module'

// As `../main.mjs` does, for the process of one cluster of a pair.
enableCompileCache(new URL('../../../.build/compile-cache', import.meta.url).pathname)
await import('./member.ts')
flushCompileCache()
