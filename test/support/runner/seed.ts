// The seed of property tests: random in each run, or the value of `FUZZ_SEED`.
const seed = process.env['FUZZ_SEED']
if (seed !== undefined) {
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })
}
