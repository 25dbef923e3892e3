// Installs the dependencies of a fresh clone from the lock file, before `npm start`, `npm test` and similar commands.
// Runs on the system's Node (20 or later), before the Node of package.json is installed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { findNpm } from './npm.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = `${root}node_modules/.installed`
const wanted = createHash('sha256')
  .update(readFileSync(`${root}package-lock.json`))
  .digest('hex')

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  process.stderr.write('Installing dependencies (npm ci) …\n')
  const run = spawnSync(...findNpm(['ci', '--no-audit', '--no-fund']), { cwd: root, stdio: ['ignore', 2, 2] })
  if (run.status !== 0) {
    process.stderr.write('npm ci failed; nothing was started.\n')
    process.exit(run.status ?? 1)
  }
  writeFileSync(stamp, wanted)
}
