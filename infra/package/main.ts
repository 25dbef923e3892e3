// Writes .build/package, as it would be published: `npm run package`.
import { buildFunctions } from '../build/functions.ts'
import { bundlesDir } from '../checkout.ts'
import { buildPackage } from './build.ts'

await buildFunctions()
await buildPackage(bundlesDir)
