import { enableCompileCache, flushCompileCache } from 'node:module'

// Entry of the process of one cluster of a pair. The reasons for its form are in `../main.mjs`.
enableCompileCache(new URL('../../../.build/compile-cache', import.meta.url).pathname)
await import('./member.ts')
flushCompileCache()
