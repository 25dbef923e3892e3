import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createLocalAuthority } from '../../../infra/local/gateway/tls.ts'
import { PAIR_REGIONS } from '../../../infra/local/pair/pair.ts'
import { emulatorAdaptationNames } from '../adaptations.ts'
import { type Emulator, startEmulator } from '../emulator.ts'
import { startTlsFront, type TlsFront } from '../front.ts'
import { ProvedAccount, writeAdaptedRelease } from '../proved-account.ts'

// Runs `cloud-auth prove --peer-region` with an emulator for each region. The clusters call each other by TLS fronts of
// the test, because clusters call each other by https only.

const authority = createLocalAuthority('authority')
const started: Emulator[] = []
const fronts: { name: string; front: TlsFront }[] = []
let proved: ProvedAccount

beforeAll(async () => {
  const release = await writeAdaptedRelease()
  for (const [name, region] of Object.entries(PAIR_REGIONS)) {
    started.push(await startEmulator(emulatorAdaptationNames, region))
    fronts.push({ name, front: await startTlsFront(authority.issue(name, [`${name}.test`])) })
  }
  const [east, west] = started as [Emulator, Emulator]
  for (const [name, value] of Object.entries(east.variables))
    if (/^AWS_(?!ENDPOINT_URL|REGION)/.test(name)) vi.stubEnv(name, value)
  const linkTo = (api: string): string => {
    const found = fronts[started.findIndex(({ url }) => api.startsWith(url))]
    found?.front.forwardTo(api)
    return `https://${found?.name}.test:${found?.front.port}`
  }
  proved = new ProvedAccount(east, release, { emulator: west, authority: authority.cert, linkTo })
})
afterAll(async () => {
  vi.unstubAllEnvs()
  for (const { front } of fronts) await front.close()
  for (const emulator of started) await emulator.stop()
  proved?.remove()
})

/** Returns the row of a claim in the report. */
const rowOf = (id: string) =>
  (JSON.parse(proved.printed).rows as { id: string; result: string; note: string }[]).find(
    row => row.id === id,
  )

test('a run in two regions joins, switches, loses the new primary, and leaves only the keys', async () => {
  await proved.start()
  const { stopped, measured, remains } = JSON.parse(proved.printed)
  expect(stopped, proved.said.join('\n')).toBeUndefined()
  expect(rowOf('link'), proved.said.join('\n')).toMatchObject({ result: 'held' })
  // the claim is about AWS: here the switch and the promotion succeed, at the speed of this machine
  expect(rowOf('switch')?.note, proved.said.join('\n')).toMatch(/^a planned switch took .* both primaries/)
  expect(Object.keys(measured)).toEqual(
    expect.arrayContaining(['join until the secondary follows', 'planned switch', 'forced promotion']),
  )
  expect(remains).toEqual(
    Array.from({ length: 2 }, () => expect.objectContaining({ what: expect.stringMatching(/^KMS key/) })),
  )
  await proved.expectEmpty()
})

test('SIGINT while the clusters are joined leaves nothing in either region', async () => {
  const end = await proved.start({}, call => {
    if (/^invokeFunction .*-peer-.*onjournal/.test(call)) proved.signal('SIGINT')
  })
  expect(end).toBe('interrupted')
  await proved.expectEmpty()
})
