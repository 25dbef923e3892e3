import { statSync } from 'node:fs'
import { root } from '../checkout.ts'
import { buildPrograms, programs } from './command.ts'

await buildPrograms()
for (const { file } of Object.values(programs)) {
  const kilobytes = Math.round(statSync(`${root}.build/${file}`).size / 1024)
  process.stdout.write(
    `Wrote .build/${file} (${kilobytes} kB). It runs on Node 20 or later: .build/${file} --help\n`,
  )
}
