import { ATTEMPT_WORKFLOW } from '../../shared/ceremony/watch.ts'
import { defined } from '../../shared/values/defined.ts'
import { DRILL_WORKFLOW_NAME } from '../../shared/workers/workflows.ts'

/** Settings of a deployment that only some functions read. */
interface OwnSettings {
  console?: { peer?: string | undefined } | undefined
  consoleOrigin?: string | undefined
  drill?: { peer: string; policy: string } | undefined
  healthChecksKeyring?: boolean
  instanceEvents?: object | undefined
  initPgpKeys?: readonly string[] | undefined
  strictCeremony?: boolean
}

/** The settings by which a function differs from other functions, apart from its uses. */
interface FunctionRow {
  /** settings that the function reads in addition to the common settings */
  settings?: readonly (keyof OwnSettings)[]
  /** the only workflow that the function starts or resumes; absent: all workflows of operations */
  workflow?: string
  /**
   * `wire`: the function's table calls are frequent and use our own client; absent: all calls except commits
   * use the SDK
   */
  tables?: 'wire'
  /**
   * setting with the function's own domain, whose requests pass no proxy; absent: the function has no domain
   * of its own
   */
  domain?: 'linkDomain'
}

/**
 * Functions by their folder in `functions/`. A function without a row differs from other functions by its uses
 * only.
 */
export const functionTable: Readonly<Record<string, FunctionRow>> = {
  ceremony: { settings: ['strictCeremony'], workflow: ATTEMPT_WORKFLOW },
  fallback: { settings: ['console'] },
  init: { settings: ['initPgpKeys'] },
  link: { domain: 'linkDomain' },
  login: { tables: 'wire' },
  'on-attempt': { workflow: ATTEMPT_WORKFLOW },
  'on-drill': { settings: ['drill'], workflow: DRILL_WORKFLOW_NAME },
  'on-operation': { settings: ['instanceEvents'] },
  // on-pull applies the primary's journal continuously, in the least memory that Lambda offers
  'on-pull': { tables: 'wire' },
  rekey: { settings: ['strictCeremony'] },
  renewal: { tables: 'wire' },
  replication: { settings: ['consoleOrigin', 'instanceEvents'] },
  roles: { settings: ['instanceEvents'] },
  system: { settings: ['consoleOrigin', 'healthChecksKeyring'] },
  tokens: { tables: 'wire' },
}

/** The environment variables of each setting. */
const variablesOf: Readonly<
  Record<keyof OwnSettings, (settings: OwnSettings) => Record<string, string | undefined>>
> = {
  console: ({ console: page }) => (page ? { CONSOLE: 'true', CONSOLE_PEER: page.peer } : {}),
  consoleOrigin: ({ consoleOrigin }) => ({ CONSOLE_ORIGIN: consoleOrigin }),
  drill: ({ drill }) => ({ DRILL_PEER: drill?.peer, DRILL_POLICY: drill?.policy }),
  healthChecksKeyring: settings => ({ HEALTH_CHECKS_KEYRING: settings.healthChecksKeyring?.toString() }),
  instanceEvents: ({ instanceEvents: events }) => ({ INSTANCE_EVENTS: events ? 'true' : undefined }),
  initPgpKeys: ({ initPgpKeys }) => ({ INIT_PGP_KEYS: initPgpKeys?.join(',') }),
  strictCeremony: settings => ({ STRICT_CEREMONY: settings.strictCeremony?.toString() }),
}

/** Returns the environment variables of a function's own settings. @param folder in `functions/` */
export const buildVariablesOfFunction = (folder: string, settings: OwnSettings): Record<string, string> =>
  defined(
    Object.assign({}, ...(functionTable[folder]?.settings ?? []).map(one => variablesOf[one](settings))),
  )

/**
 * Returns the client for a function's table calls.
 * @param setting `sdk`: the SDK makes all calls in every function
 */
export const chooseTablesClientModule = (folder: string, setting: 'wire' | 'sdk') =>
  setting === 'sdk' ? 'sdk' : (functionTable[folder]?.tables ?? 'sdk-but-commits')
