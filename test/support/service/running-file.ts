/** What the runner has in this worker; it is no public part of it. */
interface RunnerState {
  /** of the test file that runs */
  readonly filepath: string
  readonly evaluatedModules: {
    readonly idToModuleMap: ReadonlyMap<string, object>
    invalidateModule(module: object): void
  }
}

export const runnerState = (): RunnerState =>
  (globalThis as unknown as { __vitest_worker__: RunnerState }).__vitest_worker__

/**
 * Whether a test file has what it starts to itself, and its services a tap: those that count calls, make tables fail, or
 * turn a setting of the whole stand in a folder for it.
 */
export const isAlone = (path = runnerState().filepath): boolean =>
  /\/test\/(integration\/alone|long)\//.test(path)
