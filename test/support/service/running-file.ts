/** The runner's state in this worker. It is not part of its public API. */
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
 * Reports whether a test file shares no service with others, and gets a tap. Such files count calls, make tables fail
 * or change a global setting. Such test files have a folder of their own.
 */
export const isAlone = (path = runnerState().filepath): boolean =>
  /\/test\/(integration\/alone|long)\//.test(path)
