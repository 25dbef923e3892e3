import { askFor } from '../command/ask.ts'
import { look, memberStatusOf, send } from './ask.ts'
import type { MemberStanding } from './order.ts'
import type { MemberPlan, PairPlan } from './settings.ts'

/** What surrounds a joining. */
export interface Joining {
  say(text: string): void
  /** @returns what the operator typed */
  question(text: string): Promise<string>
  /** of an administrator of the primary, and of the cluster that joins */
  tokens: { primary: string; secondary: string }
  wait(ms: number): Promise<void>
}

const PAUSE_MS = 2000
/** Looks until a status has to be what is waited for: a first sync takes as long as there is something to fetch. */
const LOOKS = 1800
/** For so long a request is repeated that has to wait. */
const PATIENCE_MS = 10 * 60_000

/** What a cluster has to be. */
const MAY: Readonly<Record<'primary' | 'secondary', readonly MemberStanding[]>> = {
  primary: ['alone', 'primary'],
  secondary: ['alone'],
}

async function requireStanding({ name, address }: MemberPlan, as: keyof typeof MAY): Promise<void> {
  const standing = await look(address)
  if (!MAY[as].includes(standing))
    throw new Error(
      `nothing was changed: ${name} is ${standing}, and would have to be ${MAY[as].join(' or ')}`,
    )
}

async function until(
  { name, address }: MemberPlan,
  what: string,
  holds: (status: Record<string, unknown>) => boolean,
  { wait, say }: Joining,
): Promise<void> {
  say(`waiting until ${name} ${what}`)
  for (let looks = 0; looks < LOOKS; looks += 1) {
    if (holds(await memberStatusOf(address).catch(() => ({})))) return
    await wait(PAUSE_MS)
  }
  throw new Error(`${name} does not come so far that it ${what}: see its status`)
}

/**
 * Has one cluster of a pair join the other as its DR secondary, after the operator has typed its name: what it had is
 * removed.
 * @param name of the one that joins
 * @throws Error when either is not what it has to be, and when a request is refused
 */
export async function joinPair(pair: PairPlan, name: string, around: Joining): Promise<void> {
  const { say, question, tokens } = around
  const secondary = pair.find(one => one.name === name)
  const primary = pair.find(one => one.name !== name)
  if (!secondary || !primary) throw new Error(`the pair has no cluster ${name}`)
  await requireStanding(primary, 'primary')
  await requireStanding(secondary, 'secondary')
  say(`${name} (${secondary.address}) becomes the secondary of ${primary.name}. What ${name} has is removed.`)
  if ((await question(`Type the name of the cluster that loses what it has: `)).trim() !== name)
    throw new Error('nothing was changed: that is not its name')
  // repeated as the runbooks do: a cluster may be about to change its role
  const change = ({ name: of, address }: MemberPlan, path: string, token: string, body: object) =>
    askFor(() => send(address, `sys/replication/dr/${path}`, { method: 'POST', token, body }), {
      forMs: PATIENCE_MS,
      say,
      named: `${path} on ${of}`,
    })
  const ofLink = primary.settings.linkAddress ?? primary.address
  await change(primary, 'primary/enable', tokens.primary, { primary_cluster_addr: ofLink })
  await until(
    primary,
    'keeps a journal',
    ({ state, reindex_in_progress: taking }) => state === 'running' && taking !== true,
    around,
  )
  // an earlier try may have taken the name
  const { wrap_info: wrapped } = await change(primary, 'primary/secondary-token', tokens.primary, {
    id: name,
    replace: true,
  })
  const { token } = (wrapped ?? {}) as { token?: string }
  await change(secondary, 'secondary/enable', tokens.secondary, {
    token,
    ...(secondary.settings.caBundles === undefined ? {} : { ca_path: '.' }),
  })
  await until(secondary, 'follows', ({ state }) => state === 'stream-wals', around)
  say(`${name} follows ${primary.name}`)
}
