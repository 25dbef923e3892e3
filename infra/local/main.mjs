import { enableCompileCache, flushCompileCache } from 'node:module'

// Entry of `npm start`. The Node flags of `npm start` keep the heaps of all threads small; otherwise they
// grow to several times the live data. The compile cache halves the start time. This file is JavaScript,
// because with a filled cache no thread loads the type stripper, 10 MB.
enableCompileCache(new URL('../../.build/compile-cache', import.meta.url).pathname)
await import('./commands/start/command.ts')
flushCompileCache()
