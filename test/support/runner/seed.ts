// What properties are tried with: chosen anew in each run, and the same again where `FUZZ_SEED` says which.
const seed = process.env['FUZZ_SEED']
if (seed !== undefined) {
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })
}
