import { rmSync } from 'node:fs'
import { emulatorLogs } from './emulator.ts'
import { describeMissingEmulator, installEmulator } from './install.ts'

/** Installs the emulator before the tests. @throws Error if the emulator is not available */
export default function setup(): void {
  rmSync(emulatorLogs, { recursive: true, force: true })
  const missing = installEmulator()
  if (missing !== undefined) throw new Error(describeMissingEmulator(missing))
}
