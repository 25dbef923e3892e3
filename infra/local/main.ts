import { enableCompileCache } from 'node:module'

// what `npm start` runs: a host starts in half the time when its code has been compiled before
enableCompileCache(new URL('../../.build/compile-cache', import.meta.url).pathname)
await import('./command.ts')
