import type { BrowserContext } from 'playwright-core'
import {
  changing,
  closedFormerPrimary,
  followerOf,
  PAIR_SEEN_AT,
  primaryOf,
  promotion,
} from '../builders/pair-seen.ts'

// The situations of an operator, as answers of two clusters with hostile names.

/** The name of a cluster that tries to run a script, to reorder text, and to pretend that all is well. */
export const evilName = (name: string): string =>
  `${name}"><img src=x onerror="alert(1)">\u202e'. All is well. ${'x'.repeat(300)}`
/** Path of the other cluster. The policy of the page permits calls to its own origin. */
const PEER_PATH = '/other'

/** The answers of one cluster; absent: the cluster does not answer. */
interface FakeCluster {
  name: string
  status: object
  health?: number
  /** other answers by the end of the path: status code and body */
  answers?: Readonly<Record<string, readonly [code: number, body: object]>>
}

export interface Situation {
  own?: FakeCluster
  peer?: FakeCluster
  isSingle?: boolean
}

const ago = (seconds: number) => new Date(PAIR_SEEN_AT - seconds * 1000).toISOString()
const primary = (name: string, other: string, more: object = {}): FakeCluster => ({
  name,
  status: { ...primaryOf(other), ...more },
})
const secondary = (name: string, other: string, more: object = {}): FakeCluster => ({
  name,
  status: { ...followerOf(other, name), ...more },
})
const promoted = { ssct_generation_counter: 2 }
const alone = { known_secondaries: [], secondaries: [] }
const lastContact = {
  api_address: 'https://east.example.com',
  connection_status: 'disconnected',
  last_position: 12,
  last_position_time: ago(95),
  last_heartbeat: ago(95),
  replication_primary_canary_age_ms: '101000',
}
const cutOff = { connection_state: 'transient_failure', state: 'idle', primaries: [lastContact] }
const skipped = { step: 'handover', does: 'this step is skipped: the primary does not answer' }
/** The readiness of a secondary whose primary has been silent for longer than a minute. */
const lossyPlan = { goes_through: true, refused: '', warnings: ['two writes are missing'], steps: [skipped] }
const lossyReadiness = {
  mode: 'secondary',
  ready: true,
  checks: [{ name: 'silent', passes: true, text: '', overridden_by_force: false }],
  promotion: lossyPlan,
  promotion_with_force: lossyPlan,
  lag: { primary: 'silent', last_contact_age_ms: 95_000 },
  license: { ends: '', seconds_left: 1_000_000, text: '' },
  operation_token: {
    presented: { counts: true, why: '', expires: '', seconds_left: 600 },
    generated: null,
  },
}

/** Returns the answers of both clusters by situation. `own` is the cluster whose page is open. */
export function createSituations(nameOf: (name: string) => string) {
  const [EAST, WEST] = [nameOf('east'), nameOf('west')]
  const closed: FakeCluster = { name: EAST, status: closedFormerPrimary }
  const keyringFault = {
    part: 'keyring',
    ongoing: true,
    text: `AccessDeniedException ${EAST}`,
    since: ago(60),
    last: ago(9),
    ended: '',
  }
  const report = {
    complete: true,
    waits_for: '',
    next: '',
    counts: { commits: 2, kinds: { role: { written: 1, deleted: 0 }, token: { written: 3, deleted: 0 } } },
    lost: [{ time: ago(100), changes: [{ kind: 'role', what: `role ${EAST}` }] }],
    diverging: [],
  }

  return {
    healthy: {
      own: secondary(WEST, EAST),
      peer: primary(EAST, WEST, { role_since: ago(7200), region: 'eu-central-1' }),
    },
    switching: {
      own: secondary(WEST, EAST, { operation: { ...promotion, since: ago(4) } }),
      peer: closed,
    },
    finishing: {
      own: {
        ...primary(WEST, EAST, { ...promoted, operation: { ...promotion, step: 'open' } }),
        health: 503,
      },
      peer: closed,
    },
    between: { own: secondary(WEST, EAST), peer: closed },
    after: { own: primary(WEST, EAST, { ...promoted, secondaries: [] }), peer: closed },
    following: {
      own: primary(WEST, EAST, { ...promoted, secondaries: [] }),
      peer: { ...closed, status: { ...closedFormerPrimary, operation: changing('update-primary') } },
    },
    dead: {
      own: {
        ...secondary(WEST, EAST, cutOff),
        answers: {
          '/secondary/readiness': [200, { data: lossyReadiness }],
          '/secondary/promote': [200, { warnings: [EAST] }],
        },
      },
    },
    revoked: { own: secondary(WEST, EAST, cutOff), peer: primary(EAST, WEST, alone) },
    disaster: { own: primary(WEST, EAST, { ...promoted, ...alone }) },
    report: {
      own: { ...closed, answers: { '/dr/divergence': [200, { data: report }] } },
      peer: primary(WEST, EAST, { ...promoted, ...alone }),
    },
    'kms-off': {
      own: primary(EAST, WEST, { recent_faults: [keyringFault] }),
      peer: secondary(WEST, EAST),
    },
    single: { own: { name: EAST, status: { mode: 'disabled' } }, isSingle: true },
  } as const satisfies Readonly<Record<string, Situation>>
}

const healthOf = ({ status, health }: FakeCluster): number =>
  health ?? ((status as { mode?: string }).mode === 'secondary' ? 472 : 200)

/** Answers every request of the page to both clusters, and fixes the clock of the page. */
export async function playSituation(
  context: BrowserContext,
  { own, peer, isSingle }: Situation,
): Promise<void> {
  await context.clock.setFixedTime(PAIR_SEEN_AT)
  await context.route('**/ui/settings.json', route => {
    const { origin } = new URL(route.request().url())
    return route.fulfill({ json: isSingle ? {} : { peer: origin + PEER_PATH } })
  })
  await context.route('**/v1/**', route => {
    const { pathname } = new URL(route.request().url())
    const cluster = pathname.startsWith(`${PEER_PATH}/`) ? peer : own
    if (!cluster) return route.abort()
    if (pathname.endsWith('/sys/health'))
      return route.fulfill({
        status: healthOf(cluster),
        json: { initialized: true, cluster_name: cluster.name, product_version: '1.0.0' },
      })
    if (pathname.endsWith('/dr/status')) return route.fulfill({ json: { data: cluster.status } })
    const [, [status, json] = [404, { errors: [] }]] =
      Object.entries(cluster.answers ?? {}).find(([end]) => pathname.endsWith(end)) ?? []
    return route.fulfill({ status, json })
  })
}
