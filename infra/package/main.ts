// Writes the package to .build/package, in its published form: `npm run package`.
import { buildFunctionBundles } from '../build/functions.ts'
import { bundlesDir } from '../checkout.ts'
import { buildPackage } from './build.ts'

await buildFunctionBundles()
await buildPackage(bundlesDir)
