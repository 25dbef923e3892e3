import { statSync } from 'node:fs'
import { checkoutRoot } from '../checkout.ts'
import { buildPrograms, shippedPrograms } from './command.ts'

await buildPrograms()
for (const { file } of Object.values(shippedPrograms)) {
  const kilobytes = Math.round(statSync(`${checkoutRoot}.build/${file}`).size / 1024)
  process.stdout.write(
    `Wrote .build/${file} (${kilobytes} kB). It runs on Node 20 or later: .build/${file} --help\n`,
  )
}
