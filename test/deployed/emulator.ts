import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { checkoutRoot } from '../../infra/checkout.ts'
import { findFreePort } from '../../infra/local/os/loopback.ts'
import { hasEnded } from '../support/programs/npm-start.ts'
import type { EmulatorAdaptationName } from './adaptations.ts'
import { emulatorFiles } from './install.ts'

/** The emulated account, and the region of an emulator that is started without a region. */
export const EMULATED = { account: '111122223333', region: 'us-east-1' }

/** A running emulator. */
export interface Emulator {
  region: string
  /** endpoint of all services */
  url: string
  /** the environment of programs that use the emulated account, and no other account */
  variables: Record<string, string>
  /** file with the emulator's output */
  log: string
  stop(): Promise<void>
}

/** The latest time at which a starting emulator must answer, in milliseconds. */
const START_LIMIT_MS = 120_000
const LOOK_MS = 100

/** Folder with the output of emulators. */
export const emulatorLogs = `${checkoutRoot}.build/emulator-logs/`

/** Returns the environment of the emulator and of programs that use it. @param home folder of their files */
const commonVariables = (home: string): Record<string, string> => ({
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
  LANG: 'C.UTF-8',
  HOME: home,
  TMPDIR: home,
  NODE_COMPILE_CACHE: `${checkoutRoot}.build/compile-cache`,
})

/** Returns the environment of programs that use the emulated account, and no other account. */
const clientVariables = (url: string, region: string, home: string): Record<string, string> => ({
  ...commonVariables(home),
  AWS_ENDPOINT_URL: url,
  AWS_REGION: region,
  AWS_ACCESS_KEY_ID: EMULATED.account,
  AWS_SECRET_ACCESS_KEY: 'emulated',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
})

interface EmulatorPlace {
  region?: string
  /** ending of the names of APIs; clusters take their addresses from these names */
  host?: string
}

/** Returns the environment of an emulator. */
const emulatorVariables = (
  port: number,
  { region = EMULATED.region, host = 'localhost' }: EmulatorPlace,
  home: string,
): Record<string, string> => ({
  ...commonVariables(home),
  FOLDER: home,
  PYTHONDONTWRITEBYTECODE: '1',
  NODE: process.execPath,
  RUNTIME_CLIENT: emulatorFiles.runtimeClient,
  NATIVE_PART: emulatorFiles.nativePart,
  NAMES: emulatorFiles.names,
  GATEWAY_PORT: String(port),
  BIND_HOST: '127.0.0.1',
  MINISTACK_HOST: host,
  MINISTACK_ACCOUNT_ID: EMULATED.account,
  MINISTACK_REGION: region,
  STATE_DIR: `${home}/state`,
  S3_DATA_DIR: `${home}/s3`,
  LAMBDA_EXECUTOR: 'local',
  // these listeners would open ports on all addresses
  SFTP_ENABLED: '0',
  IOT_MTLS_ENABLED: '0',
  LOG_LEVEL: 'WARNING',
})

/** Reports whether the emulator answers. */
const isAnswering = (url: string): Promise<boolean> =>
  fetch(`${url}/_ministack/health`).then(
    ({ ok }) => ok,
    () => false,
  )

async function waitUntilAnswering(child: ChildProcess, url: string, log: string): Promise<void> {
  const end = Date.now() + START_LIMIT_MS
  while (!(await isAnswering(url))) {
    if (hasEnded(child)) throw new Error(`the emulator ended at its start; ${log} has its output`)
    if (Date.now() > end) throw new Error(`the emulator does not answer; ${log} has its output`)
    await setTimeout(LOOK_MS)
  }
}

/**
 * Starts an emulated AWS account on a free port of loopback. The emulator ends with this process, even if this
 * process is killed. An emulator is one region of the account.
 */
export async function startEmulator(
  adaptations: readonly EmulatorAdaptationName[],
  place: EmulatorPlace = {},
): Promise<Emulator> {
  mkdirSync(emulatorLogs, { recursive: true })
  const home = mkdtempSync(`${tmpdir()}/cloud-auth-emulated-`)
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const { region = EMULATED.region } = place
  const child = spawn(emulatorFiles.python, [emulatorFiles.start], {
    cwd: home,
    // leader of a process group, which the emulator kills when its standard input closes
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...emulatorVariables(port, place, home), ADAPTATIONS: adaptations.join(',') },
  })
  const log = `${emulatorLogs}${basename(home)}.log`
  const output = createWriteStream(log)
  for (const stream of [child.stdout, child.stderr]) stream.pipe(output, { end: false })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.stdin.end()
    await ended
  }
  try {
    await waitUntilAnswering(child, url, log)
  } catch (error) {
    await stop()
    throw error
  }
  return { region, url, variables: clientVariables(url, region, home), log, stop }
}
