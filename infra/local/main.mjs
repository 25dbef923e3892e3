import { enableCompileCache, flushCompileCache } from 'node:module'

// What `npm start` runs. Its flags keep the heaps of all threads small: left alone they grow to several times of what
// lives in them. A host starts in half the time when its code has been compiled before, by one that may be killed
// later; then nobody needs the stripper of types, 10 MB, which is why this file is JavaScript.
enableCompileCache(new URL('../../.build/compile-cache', import.meta.url).pathname)
await import('./commands/start/command.ts')
flushCompileCache()
