import { execFile } from 'node:child_process'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { switchPrimaryOfSet } from '../../../../infra/command/set/switch.ts'
import { createLocalDrilling } from '../../../../infra/local/commands/drill/drill.ts'
import type { LocalHost } from '../../../../infra/local/host/host.ts'
import { joinLocalPair, type PairMember } from '../../../../infra/local/pair/pair.ts'
import { joinPair } from '../../../../infra/pair/join.ts'
import { parsePairPlan } from '../../../../infra/pair/settings.ts'
import { changeDrillRoles } from '../../../../shared/replication/drill/change.ts'
import { createDrillRecord, type DrillDependencies } from '../../../../shared/replication/drill/run.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { licenceKey, licenceText } from '../../../builders/licence.ts'
import { blocksOf } from '../../../support/programs/pages.ts'
import { webServer } from '../../../support/service/server.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Every program and page that admits a cluster under a possibly taken name calls a real primary. A server
// plays the cluster that joins, and stops each program at its activation token.

const R = '/sys/replication/dr'
const NAME = 'west'

/** The two clusters as a caller sees them, and its requests to the primary. */
interface Stage {
  primary: string
  follower: string
  set: ClusterSet
  asked: { path: string; id: string; status: number }[]
}

const bodyOf = async (request: IncomingMessage): Promise<Record<string, unknown>> => {
  let text = ''
  for await (const part of request) text += String(part)
  return text === '' ? {} : JSON.parse(text)
}

/** @param stand the state that the joining cluster's status shows */
async function staged(isTaken: boolean, stand: { mode: string }): Promise<Stage> {
  const set = await clusterSet(['north', 'south', 'third'], { memory: true })
  await set.enable('north')
  if (isTaken) await set.join('south', 'north', NAME)
  const asked: Stage['asked'] = []
  const server = (answer: (path: string, body: Record<string, unknown>) => Promise<[number, unknown]>) =>
    webServer(onTestFinished, (request, response) => {
      const path = (request.url ?? '').replace(/^\/v1/, '').replace(R, '')
      void bodyOf(request)
        .then(body => answer(path, body))
        .then(([status, body]) => response.writeHead(status).end(JSON.stringify(body)))
    })
  const { url: primary } = await server(async (path, body) => {
    if (path === '/sys/health') return [200, { replication_dr_mode: 'primary', cluster_name: 'north' }]
    if (path === '/status') {
      const { known_secondaries } = (await set.at('north').ok('GET', `${R}/status`)).body.data
      return [200, { data: { ...PRIMARY, known_secondaries } }]
    }
    if (path !== '/primary/secondary-token' && path !== '/primary/revoke-secondary')
      return [200, { data: {} }]
    const { status, body: answer } = await set.at('north').request('POST', `${R}${path}`, body)
    asked.push({ path, id: String(body['id']), status })
    return [status, answer]
  })
  const { body } = await set.at('third').ok('POST', `${R}/secondary/generate-public-key`, {})
  const publicKey = body.data.secondary_public_key
  const { url: follower } = await server(async path => {
    if (path === '/sys/health')
      return [stand.mode === 'disabled' ? 200 : 472, { replication_dr_mode: stand.mode, cluster_name: NAME }]
    if (path === '/status') return [200, { data: stand }]
    if (path === '/secondary/generate-public-key') return [200, { data: { secondary_public_key: publicKey } }]
    if (path.startsWith('/secondary/generate-operation-token'))
      return [200, { nonce: 'n', otp: 'o', complete: true, encoded_token: 't' }]
    if (path === '/secondary/enable' || path === '/secondary/update-primary')
      return [400, { errors: ['the play ends here'] }]
    return [200, { data: { token: 'hvb.operation' } }]
  })
  return { primary, follower, set, asked }
}
const SET = { cluster_id: 'the set' }
const PRIMARY = { ...SET, mode: 'primary', state: 'running', secondaries: [], ssct_generation_counter: 2 }
const CLOSED = {
  ...SET,
  mode: 'secondary',
  state: 'idle',
  known_primary_cluster_addrs: [],
  ssct_generation_counter: 1,
}
const ALONE = { mode: 'disabled' }

const hostAt = (base_url: string, cluster: string) =>
  ({
    base_url: `${base_url}/v1`,
    link_address: base_url,
    root_token: 'root',
    cluster,
    recovery_keys: ['share'],
    adoptKeys: () => undefined,
  }) as unknown as LocalHost & PairMember
const both = ({ primary, follower }: Stage) => ({
  east: hostAt(primary, 'north'),
  west: hostAt(follower, NAME),
})

/** Runs the page's shell commands from the activation token on, with the page's `ask`. */
async function pasted({ primary, follower }: Stage, page: string, of: 'EAST' | 'WEST'): Promise<void> {
  const block = blocksOf(page).find(text => text.includes('primary/secondary-token')) ?? ''
  const [at, other] = of === 'EAST' ? [primary, follower] : [follower, primary]
  const shell = [
    'set -e',
    'exec 1>&2',
    'ask() { curl -sS --fail-with-body "$@"; }',
    `EAST=${at}/v1 WEST=${other}/v1 OPERATION=o TOKEN=t WEST_TOKEN=w CA_FILE=`,
    // the pages call the joining cluster west or east
    block.replaceAll('east', NAME),
  ].join('\n')
  await promisify(execFile)('bash', ['-c', shell])
}

const licence = licenceKey()
const plan = ({ primary, follower }: Stage) => {
  const [east, west] = parsePairPlan({
    both: { stage: 'prod', license: licenceText(licence.privateKey), licensePublicKey: licence.publicKey },
    clusters: Object.fromEntries(
      Object.entries({ east: 'us-east-1', [NAME]: 'us-west-2' }).map(([name, region]) => [
        name,
        {
          account: '111122223333',
          region,
          settings: {
            domain: {
              name: `auth-${name}.example.com`,
              certificateArn: `arn:aws:acm:${region}:111122223333:certificate/one`,
            },
          },
        },
      ]),
    ),
  })
  return [
    { ...east, address: primary },
    { ...west, address: follower },
  ] as ReturnType<typeof parsePairPlan>
}

const quiet = () => undefined

/** Runs the step of a drill in which the former primary follows its successor. */
const followInDrill = (drilling: DrillDependencies) =>
  changeDrillRoles(
    drilling,
    { ...createDrillRecord('one', drilling.clock.now()), step: 'follow', peer: 'north' },
    'there',
    'follow',
  )

/** The callers that admit a cluster under a possibly taken name, with the joining cluster's state. */
const callers: readonly (readonly [string, { mode: string }, (stage: Stage) => Promise<unknown>])[] = [
  [
    'the switch of the command',
    CLOSED,
    ({ primary, follower }) =>
      switchPrimaryOfSet(
        { from: { name: NAME, base: `${follower}/v1` }, to: { name: 'north', base: `${primary}/v1` } },
        {
          connection: { timeoutMs: 5000 },
          token: 'o',
          confirm: async () => true,
          say: quiet,
          progress: { done: [], where: '' },
        },
      ),
  ],
  [
    'deploy:pair with --join',
    ALONE,
    stage =>
      joinPair(plan(stage), NAME, {
        say: quiet,
        question: async () => NAME,
        tokens: { primary: 'p', secondary: 's' },
        wait: async () => undefined,
      }),
  ],
  ['a pair on a laptop, whose second cluster is new', ALONE, stage => joinLocalPair(both(stage), quiet)],
  [
    'a pair on a laptop, whose second cluster was the primary',
    CLOSED,
    stage => joinLocalPair(both(stage), quiet),
  ],
  [
    'the drill on a laptop',
    CLOSED,
    stage => followInDrill(createLocalDrilling({ own: both(stage).west, peer: both(stage).east }, 'o')),
  ],
  [
    'the drill of the service',
    CLOSED,
    async ({ set, primary, follower }) => {
      const { ports } = set.at('north')
      const drilling: DrillDependencies = {
        clock: ports.clock,
        token: async () => 'o',
        ownName: async () => NAME,
        deadline: ports.clock.now() + 60_000,
        ask: async (side, method, path, { body, token } = {}) => {
          const answer = await fetch(`${side === 'own' ? follower : primary}/v1/${path}`, {
            method,
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            headers: { 'x-vault-token': token ?? '' },
          })
          const text = await answer.text()
          return { status: answer.status, body: JSON.parse(text), refused: answer.ok ? '' : text }
        },
      }
      await followInDrill(drilling)
    },
  ],
  ['the page set-up', ALONE, stage => pasted(stage, 'set-up', 'EAST')],
  ['the page planned-switch', CLOSED, stage => pasted(stage, 'planned-switch', 'WEST')],
  ['the page failback', CLOSED, stage => pasted(stage, 'failback', 'EAST')],
  ['the page disaster', CLOSED, stage => pasted(stage, 'disaster', 'WEST')],
]

describe.each(callers)('%s', (_, stand, send) => {
  test.each([
    ['free', false],
    ['taken', true],
  ])('gets a token under a name that is %s, and revokes only an existing admission', async (_, isTaken) => {
    const stage = await staged(isTaken, stand)
    await expect(send(stage)).rejects.toThrow('the play ends here')
    const tokens = stage.asked.filter(({ path }) => path === '/primary/secondary-token')
    expect(tokens.map(({ status }) => status)).toEqual([200])
    expect(stage.asked.filter(({ status }) => status >= 300)).toEqual([])
    if (!isTaken) expect(stage.asked).toHaveLength(1)
    // the earlier holder of the name is refused from now on, including tokens that it signs
    const record = await stage.set.at('south').record()
    const [holder] = await stage.set.at('north').ports.store.read([key('holder', record.id)])
    expect(holder?.data.revoked !== undefined).toBe(isTaken)
  })
})
