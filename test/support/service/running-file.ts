/** The test runner's state in this worker. The state is not part of the runner's public API. */
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
 * Reports whether a test file shares no service with other files, and gets a storage tap. Such test files count
 * calls, make tables fail or change a global setting. Test files with a service of their own are in a separate
 * folder.
 */
export const isAlone = (path = runnerState().filepath): boolean =>
  /\/test\/(integration\/alone|long)\//.test(path)
